"""The page of the leaderboard in a real browser: Chromium without a window, by selenium."""

import shutil

import pandas as pd
import pytest
from own_release import request
from page_of_a_study import make_page, texts

from privcurve.releases.release import release
from privcurve.releases.released import PAGE

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
DRIVER = shutil.which("chromedriver")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not (CHROMIUM and DRIVER), reason="needs Chromium: apt-get install chromium chromium-driver"
    ),
]
PHONE, DESK = (390, 844), (1280, 1000)


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    return make_page(tmp_path_factory.mktemp("page"))


@pytest.fixture(scope="module")
def driver(tmp_path_factory):
    webdriver = pytest.importorskip("selenium.webdriver")
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    # As root in a container there is neither a sandbox nor much shared memory.
    for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"):
        options.add_argument(argument)
    saved = tmp_path_factory.mktemp("saved")
    options.add_experimental_option("prefs", {"download.default_directory": str(saved)})
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    driver.saved = saved
    yield driver
    driver.quit()


@pytest.fixture
def opened(driver, page):
    return Opened(driver, page)


class Opened:
    """The page, opened afresh."""

    def __init__(self, driver, page, size=DESK):
        self.driver, self.tables = driver, page.parents[1] / "tables/tiny"
        width, height = size
        driver.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": size == PHONE},
        )
        driver.get(page.as_uri())
        self.complaints = driver.get_log("browser")

    def __getitem__(self, name):
        return self.driver.find_element("id", name)

    def choose(self, name, value):
        from selenium.webdriver.support.select import Select

        Select(self[name]).select_by_value(value)

    def rows(self):
        names = [h.get_attribute("data-key") for h in self.all("#table thead th")]
        cells = "return [...document.querySelectorAll('#table tbody tr')].map("
        cells += "row => [...row.cells].map(cell => cell.textContent))"
        return pd.DataFrame(self.driver.execute_script(cells), columns=names)

    def all(self, selector):
        return self.driver.find_elements("css selector", selector)

    def move(self, epsilon):
        """Move the slider by the keyboard, step by step."""
        for key in ["\ue011", *["\ue014"] * 9]:  # Home, then the right arrow
            self["epsilon"].send_keys(key)
            if self["epsilon-now"].text == epsilon:
                return
        raise AssertionError(f"the slider has no ε = {epsilon}")


def expected(tables, dataset, epsilon):
    """Return the accuracy of the arms at an ε, best first, as the CSV has it."""
    table = texts(tables / "accuracy.csv")
    mine = table[(table["dataset"] == dataset) & (table["epsilon"] == epsilon)]
    order = mine["accuracy"].astype(float).sort_values(ascending=False, kind="stable").index
    return mine.loc[order]


def three(text):
    return f"{float(text):.3f}"


def test_it_opens_without_complaint_and_asks_for_no_other_file(opened):
    assert opened.complaints == []
    script = "return performance.getEntriesByType('resource').map(one => one.name)"
    assert opened.driver.execute_script(script) == []
    assert opened.all("#plot .curve")


@pytest.mark.parametrize("dataset", ["toy-line", "toy-line-fine"])
@pytest.mark.parametrize("epsilon", ["0.5", "1", "2"])
def test_the_slider_ranks_and_the_numbers_are_those_of_the_csv(opened, dataset, epsilon):
    opened.choose("dataset", dataset)
    for box in opened.all("#kinds input"):
        if not box.is_selected():
            box.click()
    opened.move(epsilon)
    assert opened["epsilon"].get_attribute("aria-valuetext") == f"ε = {epsilon}"
    right = expected(opened.tables, dataset, epsilon)
    shown = opened.rows()
    ranked = shown[shown["rank"] != ""]
    assert list(ranked["rank"]) == [str(i + 1) for i in range(len(right))]
    wanted = [
        f"{three(a)} ± {three(s)}"
        for a, s in zip(right["accuracy"], right["accuracy_std"], strict=True)
    ]
    assert list(ranked["accuracy"]) == wanted
    assert list(ranked["auc"]) == list(map(three, right["auc"]))
    # What may be recommended: not what was tuned for nothing, nor noise without a proof.
    said = opened["answer"].text
    best = list(right["arm"]).index("rule~certified")
    assert said.startswith(f"At ε = {epsilon} take {ranked['name'].iloc[best]}: {wanted[best]}; ")
    free = expected(opened.tables, dataset, "inf").set_index("arm")["accuracy"]
    assert f"without privacy {three(free['free'])} (Logistic regression)" in said
    assert f"majority {three(free['majority'])}" in said
    ahead = "boost~certified" in list(right["arm"])[:best]
    assert ("chosen on the records, which ε does not cover" in said) == ahead
    assert opened["answer"].get_attribute("aria-live") == "polite"


def test_what_coding_costs_is_in_the_sentence_and_in_the_legend(driver, tmp_path):
    outputs = ["accuracy", "selected_settings", "raw", "price", "leaderboard"]
    opened = Opened(driver, make_page(tmp_path, outputs))
    assert opened.complaints == []
    prices = texts(opened.tables / "price.csv").set_index(["dataset", "epsilon", "metric"])
    opened.move("2")
    for measure in ("accuracy", "auc"):
        opened.choose("measure", measure)
        sentence = prices.loc[("toy-line", "2", measure), "sentence"]
        assert f" R{sentence[1:]}." in opened["answer"].text
    raw = texts(opened.tables / "raw.csv").set_index(["dataset", "arm"]).loc[("toy-line", "raw")]
    # It is in the table, and is not what is called "without privacy": that is on codes.
    shown = opened.rows().set_index("name").loc["Raw columns (histogram boosting)"]
    assert shown["auc"] == three(raw["auc"])
    assert f"without privacy {three(raw['auc'])} (Raw" not in opened["answer"].text
    (label,) = [one for one in opened.all("#learners label") if one.text.startswith("Raw columns")]
    label.find_element("css selector", "input").click()
    assert "Raw columns (histogram boosting)" not in set(opened.rows()["name"])


def test_what_is_no_proof_is_shown_only_when_it_is_asked_for(opened):
    names = list(opened.rows()["name"])
    assert not [name for name in names if "as published" in name]
    (published,) = [
        label for label in opened.all("#kinds label") if label.text == "noise as published"
    ]
    published.click()
    assert [name for name in opened.rows()["name"] if "as published" in name]


def test_a_learner_that_is_not_chosen_is_gone_from_curves_and_table(opened):
    before, curves = len(opened.rows()), len(opened.all("#plot .curve"))
    opened.all("#learners label input")[0].click()
    assert len(opened.rows()) == before - 1
    assert len(opened.all("#plot .curve")) < curves
    opened["none"].click()
    assert len(opened.rows()) == 0
    assert "nothing" in opened["answer"].text
    opened["all"].click()
    assert len(opened.rows()) == before


def test_headers_sort_by_the_keyboard_and_say_so(opened):
    opened["every"].click()
    (header,) = opened.all("#table th[data-key=accuracy]")
    button = header.find_element("css selector", "button")
    for direction, descending in (("descending", True), ("ascending", False)):
        button.send_keys("\ue007")  # Enter
        assert header.get_attribute("aria-sort") == direction
        scores = opened.rows()["accuracy"].str.split(" ").str[0].astype(float)
        assert list(scores) == sorted(scores, reverse=descending)
    assert len(opened.all("#table th[aria-sort=ascending], #table th[aria-sort=descending]")) == 1


def test_every_control_is_reached_by_the_tab_key_and_has_a_name(opened):
    body = opened.driver.find_element("css selector", "body")
    reached = set()
    for _ in range(60):
        opened.driver.switch_to.active_element.send_keys("\ue004")
        now = opened.driver.switch_to.active_element
        if now == body:
            break
        reached.add(now.id)
        assert now.accessible_name or now.get_attribute("class") == "scroll"
    controls = opened.all("select, input, button")
    assert {one.id for one in controls if one.is_displayed()} <= reached


def test_hover_tells_setting_and_audit(opened):
    marks = opened.driver.execute_script("return document.getElementById('plot').marks")
    said = [" ".join(mark["lines"]) for mark in marks]
    assert any("n_rounds = 9" in text for text in said)
    assert any("0.900 of 1 (exact): stands" in text for text in said)
    (place,) = [k for k, text in enumerate(said) if "ε = 1," in text and "A rule" in text]
    where = "const box = document.getElementById('plot').getBoundingClientRect();"
    where += f"const one = document.getElementById('plot').marks[{place}];"
    where += "document.getElementById('plot').dispatchEvent(new PointerEvent('pointermove', "
    where += "{clientX: box.left + one.x + 3, clientY: box.top + one.y}))"
    opened.driver.execute_script(where)
    # A name is text, not markup.
    assert opened["told"].text.startswith("A rule </script> & more\nε = 1, δ = 0\naccuracy ")


def test_the_axis_leaves_out_what_is_far_worse_than_the_majority(opened):
    ends = "return endsOf([0.5, 0.6, 0.9], 0.7, 1, {})"
    narrow, wide = (opened.driver.execute_script(ends.format(w)) for w in ("false", "true"))
    assert 0.6 < narrow[0] < 0.7
    assert wide[0] < 0.5
    assert narrow[1] > 0.9
    less = opened.driver.execute_script("return endsOf([0.3, 2.5], 0.7, -1, false)")
    assert less[0] < 0.3
    assert 0.7 < less[1] < 1


def test_each_learner_in_the_legend_looks_like_its_curve(opened):
    looks = (
        "return [...document.querySelectorAll('{}')].map(one => [...one.querySelectorAll('path')]"
        ".map(path => [path.getAttribute('stroke'), path.getAttribute('fill'),"
        " path.getAttribute('stroke-dasharray') ? 'dashed' : 'solid']))"
    )
    curves = opened.driver.execute_script(looks.format("#plot .curve"))
    keys = opened.driver.execute_script(looks.format("#learners .swatch"))
    lines = [(curve[0][0], curve[0][2]) for curve in curves]
    assert lines == [(key[0][0], key[0][2]) for key in keys if len(key) == 2]
    assert [curve[1] for curve in curves] == [key[1] for key in keys if len(key) == 2]


@pytest.mark.parametrize("form", ["png", "svg"])
def test_a_picture_can_be_saved(opened, form):
    from selenium.webdriver.support.wait import WebDriverWait

    path = opened.driver.saved / f"tiny-toy-line.{form}"
    opened[f"save-{form}"].click()
    WebDriverWait(opened.driver, 30).until(lambda _: path.exists() and path.stat().st_size)
    assert path.read_bytes()[:4] in (b"\x89PNG", b"<svg")
    assert opened.driver.get_log("browser") == []


# What can be seen of an element that is wider than the page, or than what it stands in.
CUT = """
return [...document.querySelectorAll("body *")].filter((one) => {
  const box = one.getBoundingClientRect();
  return !one.closest("svg, option") && box.width && (box.right > innerWidth + 1 || box.left < -1
    || (one.scrollWidth > one.clientWidth + 1 && getComputedStyle(one).overflowX !== "visible"));
}).map((one) => one.outerHTML.slice(0, 80))
"""


@pytest.mark.parametrize("size", [PHONE, DESK])
@pytest.mark.parametrize("scripts", [True, False])
def test_nothing_is_cut(driver, page, size, scripts):
    off = {"value": not scripts}
    driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", off)
    try:
        opened = Opened(driver, page, size)
        driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})
        assert driver.execute_script("return innerWidth") == size[0]
        assert driver.execute_script(CUT) == []
        # What is for those without scripts is seen by them alone.
        assert bool(opened.all("img")) != scripts
        assert opened["controls"].is_displayed() == scripts
    finally:
        driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})


@pytest.mark.parametrize("size", [PHONE, DESK])
def test_a_card_is_no_wider_than_the_page(driver, mine, size):
    card = release(request(learner="privgam")).path(PAGE).resolve()
    Opened(driver, card, size)
    (folded,) = driver.find_elements("css selector", "details")
    (table,) = folded.find_elements("css selector", "table")[:1]
    assert not table.is_displayed()
    folded.find_element("css selector", "summary").click()
    assert table.is_displayed()
    assert driver.execute_script("return document.documentElement.scrollWidth") <= size[0]
    # Words of the first column are whole.
    cells = "return [...document.querySelectorAll('td:first-child')].map(one => one.scrollWidth)"
    assert min(driver.execute_script(cells)) > 40


def test_the_dark_has_its_own_ground_and_colours(driver, page):
    from selenium.webdriver.support.wait import WebDriverWait

    opened = Opened(driver, page)
    strokes = "return [...document.querySelectorAll('#plot .curve > path')]"
    strokes += ".map(path => path.getAttribute('stroke'))"
    light = driver.execute_script(strokes)
    features = [{"name": "prefers-color-scheme", "value": "dark"}]
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    try:
        ground = "return getComputedStyle(document.body).backgroundColor"
        assert driver.execute_script(ground) == "rgb(22, 24, 27)"
        # Curves are drawn again when the page is told of it.
        WebDriverWait(driver, 10).until(lambda it: not set(light) & set(it.execute_script(strokes)))
        assert opened["answer"].is_displayed()
        assert driver.get_log("browser") == []
    finally:
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
