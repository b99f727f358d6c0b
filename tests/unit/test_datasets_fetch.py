"""Downloads and refused files, without the network."""

import hashlib
import io

import pytest
import requests
import yaml

from privcurve.datasets import DatasetError
from privcurve.datasets.catalogue import description_of
from privcurve.datasets.reading.downloads import RawFile, fetch

CONTENT = b"1,A,1\n2,B,0\n"
URL = "https://example.invalid/tiny.csv"


class Network:
    """A fake network, which answers each request and counts them."""

    def __init__(self, answer):
        self.answer = answer
        self.requests = []
        self.timeouts = []

    def get(self, url, **keywords):
        self.requests.append(url)
        self.timeouts.append(keywords.get("timeout"))
        if isinstance(self.answer, Exception):
            raise self.answer
        response = requests.Response()
        response.status_code = 200
        response.raw = io.BytesIO(self.answer)
        return response


@pytest.fixture
def tiny(tmp_path, monkeypatch):
    monkeypatch.setenv("PRIVCURVE_DATA", str(tmp_path / "mirror"))
    monkeypatch.setenv("PRIVCURVE_CACHE", str(tmp_path / "cache"))
    (tmp_path / "mirror/tiny").mkdir(parents=True)
    digest = hashlib.sha256(CONTENT).hexdigest()
    file = {"name": "tiny.csv", "urls": [URL], "sha256": digest, "bytes": len(CONTENT)}
    content = {
        **{"title": "t", "citation": "c", "licence": "l", "n_rows": 2, "files": {"train": file}},
        "parser": {"kind": "delimited", "fields": ["age", "town", "y"]},
        "columns": [{"name": "town", "kind": "categorical", "categories": ["A", "B"]}],
        "label": {"column": "y", "positive": 1, "negative": 0},
    }
    path = tmp_path / "tiny.yaml"
    path.write_text(yaml.safe_dump(content))
    return description_of(path)


@pytest.fixture
def online(monkeypatch):
    """Return a function that replaces the network's answer."""

    def answer(content):
        network = Network(content)
        monkeypatch.setattr(requests, "get", network.get)
        return network

    return answer


def test_mirror_comes_first(tiny, tmp_path, online):
    network = online(requests.ConnectionError())
    path = tmp_path / "mirror/tiny/tiny.csv"
    path.write_bytes(CONTENT)
    assert fetch(tiny) == {"train": (RawFile(path),)}
    assert network.requests == []


def _fetched(description):
    ((file,),) = fetch(description).values()
    return file.path


@pytest.mark.parametrize("content", [CONTENT[:-3], CONTENT.replace(b"A", b"B"), b""])
def test_altered_mirror_is_refused(tiny, tmp_path, content):
    path = tmp_path / "mirror/tiny/tiny.csv"
    path.write_bytes(content)
    with pytest.raises(DatasetError) as caught:
        fetch(tiny)
    digests = [hashlib.sha256(one).hexdigest() for one in (CONTENT, content)]
    assert all(part in str(caught.value) for part in (str(path), *digests))


def test_download_is_kept_in_the_cache(tiny, tmp_path, online):
    network = online(CONTENT)
    path = _fetched(tiny)
    assert path == tmp_path / "cache" / "tiny" / "tiny.csv"
    assert path.read_bytes() == CONTENT
    assert _fetched(tiny) == path
    assert network.requests == [URL]
    assert network.timeouts == [10]
    # A damaged cached file is downloaded again.
    path.write_bytes(CONTENT[:5])
    assert _fetched(tiny).read_bytes() == CONTENT


def test_altered_download_leaves_nothing(tiny, tmp_path, online):
    online(CONTENT[:-3])
    with pytest.raises(DatasetError, match=r"does not match|Two ways out"):
        fetch(tiny)
    assert [p for p in (tmp_path / "cache").rglob("*") if p.is_file()] == []


def test_offline_message(tiny, tmp_path, online):
    network = online(requests.ConnectionError("no route"))
    with pytest.raises(DatasetError) as caught:
        fetch(tiny)
    parts = ("'tiny'", URL, str(tmp_path / "mirror"), "PRIVCURVE_DATA", "a study without")
    assert all(part in str(caught.value) for part in parts)
    assert len(network.requests) == 1
    assert [p for p in (tmp_path / "cache").rglob("*") if p.is_file()] == []
