"""Rules: one for each kind of output; names that are targets."""

from small_study import ROOT, SMALL_STUDY, plan_with_studies

from privcurve.workflow import plan, reading

SHIPPED = {"studies": ["smoke", "boosted_dp_smoke"], "audit": True, "seed": 1}


def test_one_rule_makes_all_outputs_of_a_kind():
    run = reading.read({**SHIPPED, "seconds_per_job": 30}, ROOT, decides=False)
    by_rule = run.kinds
    assert set(by_rule["accuracy"].requests) >= {"smoke/accuracy", "quickstart/accuracy"}
    assert by_rule["accuracy"].files[0] == "results/tables/{name}.csv"
    # A word that is a target too can only be the rule of its output.
    assert by_rule["audit"].files[0] == "results/tables/audit.csv"
    assert by_rule["study_audit"].files[0] == "results/tables/partial_private/audit.csv"
    assert by_rule["sparsity"].files[0] == "results/tables/sparsity.csv"
    made = [
        file.replace(plan.WILDCARD, name)
        for kind in by_rule.values()
        for name in kind.requests
        for file in kind.files
    ]
    wanted = [str(path) for request in run.outputs.values() for path in request.files.all]
    assert sorted(made) == sorted(wanted)
    for kind in by_rule.values():
        for name, request in kind.requests.items():
            wildcards = {"name": name} if len(kind.requests) > 1 else {}
            assert kind.request(wildcards) is request
            assert plan.benchmark(request) == f"benchmarks/{request.output.word}/{name}.tsv"
    rules = [*by_rule, *run.targets([]), *plan.OWN_RULES]
    assert len(rules) == len(set(rules)) < 60


def test_names_of_a_command_line_and_of_the_configuration_are_targets(tmp_path):
    sweep = {"name": "mine", "x": "epsilon"}
    other = {
        **SMALL_STUDY,
        "outputs": ["accuracy", {"sweep": sweep}, {"sweep": {**sweep, "name": "b"}}],
    }
    run = plan_with_studies(tmp_path, good=SMALL_STUDY, other=other)
    # Here audit and leaderboard have one output each, so their rules are the targets.
    always = {"good"}
    assert {"audit", "leaderboard"} <= {*run.kinds}
    assert set(run.targets(["-n", "results/figures/mine.pdf"])) == always
    for words, more in (
        (["other"], {"other"}),
        (["privcurve_other", "-j1"], {"other"}),
        (["other_accuracy", "mine"], {"other_accuracy", "mine"}),
    ):
        assert set(run.targets(words)) == always | more
    assert run.targets(["mine"])["mine"] == [
        f"results/figures/mine.{end}" for end in ("pdf", "png", "svg", "csv")
    ]
