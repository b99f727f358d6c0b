"""Every attribute that a fit may leave on a model, and why it may be there."""

# What the fit of any learner may leave on the model, and why.
PUBLIC = {
    "n_features_in_": "the number of columns, of the public domain",
    "feature_names_in_": "the names of the columns, of the public domain",
    "n_bins_": "the parameter n_bins, of the public domain",
    "classes_": "the parameter classes; without it, that both labels occur, which is assumed",
    "_fitted_parameters": "a copy of the parameters, without the seed",
    "_labels_from_rows": "whether the parameter classes was given",
    "_fitted_statement": "made from parameters, the number of records and what was released",
    "n_features_used_": "counted on the model itself",
}

# An exact count that is public where neighbours have equally many records, and nowhere else.
COUNT = {
    "n_records_": "the number of records, public where one is replaced; not if it is added",
}

VOTES = "made of margins or counts with noise"
QUESTIONS = "drawn without the data"
START = "log-odds by public columns: exact, and the same for neighbours"
ROLES = "which columns are public, a parameter"
HALF_SPACES = {
    "votes_": "half-spaces drawn blindly or with noise, α of noisy errors, and public classifiers",
    "_roles": ROLES,
}

MESSAGES = {
    "model_": "made of messages that are private, or of their sums",
    "transcript_": "sizes of messages, which follow from what the coordinator announced",
}

RULES = {
    "chosen_": "literals, each chosen privately",
    "model_": "made from the literals",
}

# By learner, beside what every fit may leave.
STEPS = {"coef_": "made of sums with noise", "intercept_": "made of sums with noise"}

# Of synthetic records.
DRAWN = {
    "trees_": "grown on records that were drawn from counts with noise",
    "values_": "of those trees",
    "start_": "of records that were drawn from counts with noise",
}

RELEASED = {
    "brc": HALF_SPACES,
    "boosting_for_people": HALF_SPACES,
    "pate": {
        "student_": "a function of public columns, labels and noisy answers",
        "_teachers": "not private, and not released: what is claimed is about answers",
        "_key": "drawn at random",
        "_scale": "of the noise, from parameters",
        "_left": "answers that are left, from parameters and the number of records",
        "_asked": "what was asked since the fit",
        "_own_rows": "where the rows of the fit are, and whether they were asked about since",
        "_roles": ROLES,
    },
    "dp_logistic_regression": {
        "coef_": "the minimum of the perturbed objective",
        "intercept_": "the minimum of the perturbed objective",
        "start_": START,
    },
    "dp_newton": STEPS,
    "dp_gradient_descent": STEPS,
    "boosted_adassp": STEPS,
    "mst": {"edges_": "pairs of columns, each chosen privately", **DRAWN},
    "aim": {"chosen_": "sets of columns, each chosen privately", **DRAWN},
    "noisy_majority": {"margin_": "with Laplace noise"},
    "noisy_bayes": {
        "columns_": "chosen privately, or all",
        "log_ratios_": "made of counts with noise",
        "prior_": f"made of counts with noise; or {START}",
    },
    "privgam": {
        "model_": "made of sums with noise, choices with noise and public coins",
        "method_": "by the public rule, from public facts",
    },
    "topdown": {"model_": "questions and labels, each chosen privately"},
    "one_rule": RULES,
    "lazybb": {**RULES, "ties_": "what the parameter ties stands for", "start_": START},
    "bdpe": {
        "splits_": f"each chosen privately, or {QUESTIONS}",
        "leaf_values_": f"{VOTES}; published: links with noise",
        "leverages_": "public, or made of counts with noise; published: exact, the leak",
        "alphas_": "public, or made of errors with noise",
    },
    "dp_forest": {"splits_": QUESTIONS, "leaf_values_": VOTES},
    "dp_bagging": {
        "coef_": "of the student, which sees queries from the public domain and noisy answers",
        "intercept_": "of the student",
    },
    "dpboost": {"splits_": "each chosen privately", "leaf_values_": "with Laplace noise"},
    "distributed_topdown": MESSAGES,
    "random_trees": MESSAGES,
    "tuned": {
        "best_": "the training that private selection kept; the others are nowhere",
        "learner_": "the name of the learner of the training that was kept",
        "setting_": "the setting of the training that was kept",
        "score_": "the noisy score of the training that was kept, a part of what is selected",
    },
}
