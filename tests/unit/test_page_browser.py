"""The page of the leaderboard in a real browser: Chromium without a window, by selenium."""

import shutil

import pandas as pd
import pytest
from page_of_a_study import make_page, texts

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


def test_it_opens_without_complaint_and_asks_for_no_other_file(opened):
    assert opened.complaints == []
    asked = "return performance.getEntriesByType('resource').map(one => one.name)"
    assert opened.driver.execute_script(asked) == []
    assert opened.all("#plot .scatterlayer .trace")


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
    wanted = [f"{a} ± {s}" for a, s in zip(right["accuracy"], right["accuracy_std"], strict=True)]
    assert list(ranked["accuracy"]) == wanted
    assert list(ranked["auc"]) == list(right["auc"])
    said = opened["answer"].text
    assert said.startswith(f"At ε = {epsilon} take {ranked['name'].iloc[0]}: {wanted[0]}; ")
    free = expected(opened.tables, dataset, "inf").set_index("arm")["accuracy"]
    assert f"without privacy {free['free']} (Logistic regression)" in said
    assert f"majority {free['majority']}" in said
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
    assert shown["auc"] == raw["auc"]
    assert f"without privacy {raw['auc']} (Raw" not in opened["answer"].text
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
    before, curves = len(opened.rows()), len(opened.all("#plot .scatterlayer .trace"))
    opened.all("#learners label input")[0].click()
    assert len(opened.rows()) == before - 1
    assert len(opened.all("#plot .scatterlayer .trace")) < curves
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
    texts = "return document.getElementById('plot').data.flatMap(one => one.text ?? [])"
    said = [text.replace("<br>", " ") for text in opened.driver.execute_script(texts)]
    assert any("n_rounds = 9" in text for text in said)
    assert any("0.900000 of 1 (exact): stands" in text for text in said)
    # A name is text, not markup.
    assert any("&lt;/script> &amp; more" in text for text in said)


@pytest.mark.parametrize("form", ["png", "svg"])
def test_a_picture_can_be_saved(opened, form):
    from selenium.webdriver.support.wait import WebDriverWait

    path = opened.driver.saved / f"tiny-toy-line.{form}"
    opened[f"save-{form}"].click()
    WebDriverWait(opened.driver, 30).until(lambda _: path.exists() and path.stat().st_size)
    assert path.read_bytes()[:4] in (b"\x89PNG", b"<svg")
    assert opened.driver.get_log("browser") == []


def test_it_fits_a_phone_and_the_dark(driver, page):
    opened = Opened(driver, page, PHONE)
    width = "return [document.documentElement.scrollWidth, innerWidth]"
    whole, seen = driver.execute_script(width)
    assert whole <= seen == PHONE[0]
    assert not opened["choose"].get_attribute("open")
    features = [{"name": "prefers-color-scheme", "value": "dark"}]
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    try:
        ground = "return getComputedStyle(document.body).backgroundColor"
        assert driver.execute_script(ground) == "rgb(22, 24, 27)"
        assert driver.get_log("browser") == []
    finally:
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
