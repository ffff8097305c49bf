"""The values that a key may have, as the program names them when it refuses one.

For every key with a number a file is tried with a value that is hardly ever right; where it is refused, the remedy is the range.
"""

import program

# A value of each type that is outside of nearly every range.
WRONG = {"f64": ["-1.0", "1e300"], "Span": ['"0 ms"'], "Vec<f64>": ["[-1.0]"]}
WRONG |= {name: ["0"] for name in ("u8", "u16", "u32", "u64", "usize")}

# Other keys that a file needs beside the key that is tried, by the kind of its environment or algorithm.
BUDGET = "{ epsilon = 1.0, delta = 1e-6 }"
ENVIRONMENTS = {
    "gap": "dimension = 5\narms = 25",
    "sphere": "arms = 25",
    "agents": "setup = 1",
    "losses": 'set = { kind = "simplex", outcomes = 5 }',
    "gradients": "dimension = 5",
}
ALGORITHMS = {
    "gap": {
        "linucb": "",
        "joint": f"privacy = {BUDGET}",
        "local": f"privacy = {BUDGET}",
        "shuffle": f"privacy = {BUDGET}",
        "ldp_linucb": f"privacy = {BUDGET}",
        "online_ucb": f"privacy = {BUDGET}",
        "anytime": f"privacy = {BUDGET}",
        "combiner": f"privacy = {BUDGET}",
        "online_linucb": "",
    },
    "agents": {"ofu": "", "roful": ""},
    "losses": {"private_bandit": f"privacy = {BUDGET}", "garber_kretzu": "", "smith_thakurta": f"privacy = {BUDGET}"},
    "gradients": {"online_learner": "", "zero": ""},
}


def experiment(environment, algorithm):
    """A small experiment with these kinds."""
    text = f'name = "x"\nrounds = 20000\n[environment]\nkind = "{environment}"\n{ENVIRONMENTS[environment]}\n'
    return text + f'[[algorithm]]\nkind = "{algorithm}"\n{ALGORITHMS[environment][algorithm]}\n'


def ask_experiment(environment, algorithm, prefix):
    """A function from a key of the table `prefix`, and its type, to its range."""
    text = experiment(environment, algorithm)
    return lambda key, type: asked(key, type, lambda wrong: program.refusal(text, "--set", f"{prefix}{key}={wrong}"))


def ask_loop(key, type):
    """The range of a key of a loop."""
    device = 'trust = "shuffler"\nshuffle.batch = 1000\n' if key.startswith("shuffle.") else 'trust = "device"\n' if key.startswith("device.") else ""
    given = {"privacy.epsilon": "1.0", "privacy.delta": "1e-6", "privacy.visits": "1", "privacy.per": '"ever"'}

    def refused(wrong):
        lines = "\n".join(f"{name} = {value}" for name, value in {**given, key: wrong}.items())
        kept = "".join(line + "\n" for line in device.splitlines() if not line.startswith(key))
        return program.refusal(f"[loop.home]\n{kept}{lines}\n[loop.home.action]\nx = {{ range = [0, 1] }}\n")

    return asked(key, type, refused)


def asked(key, type, refused):
    """The remedies that wrong values of a type are refused with, together."""
    found = [program.remedy(refused(wrong), key.split(".")[-1]) for wrong in WRONG.get(type, [])]
    text = "; ".join(dict.fromkeys(filter(None, found)))
    return f"span, {text}" if text and type == "Span" else text
