"""The program that serves the model: llama.cpp's own HTTP server, on a port of the system's choice.

    python model_program.py WEIGHTS NAME WINDOW GRAMMAR

It prints the server's address once the model is loaded, and leaves when its stdin is closed: so it
does not outlive the tests that started it. The model always gives the likeliest token; a grammar
that is not empty holds it to a form.
"""

import sys

import xllamacpp


def main(weights: str, name: str, window: str, grammar: str) -> None:
    """Serve until stdin is closed."""
    params = xllamacpp.CommonParams()
    params.model.path = weights
    params.model_alias = {name}
    params.n_ctx = int(window)
    params.offline = True
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.ui = False
    params.endpoint_slots = params.endpoint_metrics = True
    params.verbosity = 1  # errors only
    # More threads than idle cores make it slower by far, and a test machine has others to serve.
    params.cpuparams.n_threads = 1
    params.n_parallel = 1
    params.cache_ram_mib = 0
    params.sse_ping_interval = 1  # seconds: comments in the stream while a prompt is read
    params.sampling.temp = 0.0
    if grammar:
        form = xllamacpp.CommonGrammar()
        form.grammar = grammar
        form.type = xllamacpp.common_grammar_type.COMMON_GRAMMAR_TYPE_USER
        params.sampling.grammar = form
    server = xllamacpp.Server(params)
    print(server.listening_address, flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main(*sys.argv[1:])
