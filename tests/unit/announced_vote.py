"""The tutorial's learner, with an announced sensitivity that no rule covers."""


def with_announced_sensitivity(text):
    """Return the source with its sums in a kernel: the author must then state their sensitivity."""
    for old, new in {
        "        return [Announced(": (
            "        d = self.n_features_in_ + 1\n"
            '        return [Announced("signed sums", l1=2 * d, l2=2 * d**0.5, source="me")]\n'
            "        return [Announced("
        ),
        "        codes, labels = curator.rows(records)\n": "",
        "(places(codes, self.n_bins_) * labels[:, None]).sum(axis=0)": (
            "(records.counts * records.labels) @ kernel(places, rows=0)("
            "records.codes, self.n_bins_)"
        ),
        "import Announced\n": "import Announced\nfrom privcurve.privacy.sealed import kernel\n",
    }.items():
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return text
