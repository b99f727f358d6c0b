"""Define the base class of outputs about a single model that is trained only for the output."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from privcurve.datasets import Dataset
from privcurve.experiments import canonical
from privcurve.experiments.curves import Curve
from privcurve.experiments.methods import Method, Point
from privcurve.outputs.base import (
    Context,
    Option,
    Output,
    OutputRequest,
    Reads,
    dataset_title,
    description_of,
)

if TYPE_CHECKING:
    from privcurve.experiments.models import Inspection

# Options that all outputs about one model have. Each output adds its own option `learner`.
OPTIONS: Mapping[str, Option] = {
    "epsilon": Option("the budget of the model, above 0", float),
    "dataset": Option("a dataset of the study; by default its first", str, None),
}


class OneModel(Output):
    """An output about one model, trained on all training records of a dataset.

    The model's ε may differ from the study's ε. The output reads no results of the study.
    """

    selects: ClassVar[bool] = False
    local: ClassVar[bool] = False

    def check(self, request: OutputRequest) -> None:
        request.check_dataset(self.dataset(request))
        if not request.options["epsilon"] > 0:
            raise ValueError(f"epsilon must be > 0; got {request.options['epsilon']:g}")

    def dataset(self, request: OutputRequest) -> str:
        """Return the dataset on which the model is trained."""
        return request.options["dataset"] or request.study.datasets[0]

    def method(self, request: OutputRequest) -> Method:
        """Return the method to train; if the learner has several methods, the first of them."""
        return request.methods_of(request.options["learner"])[0]

    def reads(self, request: OutputRequest) -> Reads:
        method, dataset = self.method(request), self.dataset(request)
        version = method.version
        # The output reads no curve, so that no digest of a curve covers its model. `facts` must
        # therefore contain all that determines the model, except the data.
        budget = [method.calibration, method.delta, method.claim]
        settings = [canonical.text(setting) for setting in method.settings]
        titles = [method.title, dataset_title(dataset)]
        facts: list[Any] = [method.name, version, budget, settings, titles]
        if terms := Curve(request.study, description_of(dataset), method, 0).dataset_terms:
            facts.append(terms)
        return Reads(data=(dataset,), facts=facts)

    def train_model(self, context: Context) -> tuple[Dataset, Inspection]:
        """Read the dataset and train one model at the ε of the option `epsilon`."""
        data = context.data(self.dataset(context.request))
        (model,) = self.trainings(context, data, context.options["epsilon"], 1)
        return data, model

    def trainings(
        self, context: Context, data: Dataset, epsilon: float, repeats: int
    ) -> list[Inspection]:
        """Train the method `repeats` times at `epsilon`, each time with other noise."""
        from privcurve.experiments import models

        method = self.method(context.request)
        (setting,) = method.settings
        point = Point(epsilon, setting, canonical.text(setting))
        return list(models.train_afresh(data, method, point, repeats, context.seed))


def is_partial(method: Method) -> bool:
    """Return whether a method selects among settings or trains on a share of the records.

    Such a method has no single model to show.
    """
    return len(method.settings) > 1 or method.train_share < 1
