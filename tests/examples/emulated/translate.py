#!/usr/bin/env python3
"""translate.py SOURCE.cu OUTPUT.cpp - the two things in a CUDA program that a host compiler does not read.

Launches, name<<<...>>>(args), become calls of emulated::launch() (cuda_runtime.h beside this file), and
every kernel is registered with the stand-in driver at the end. Lines keep their numbers.
"""
import re
import sys

LAUNCH = re.compile(r"\b(\w+)<<<(.*?)>>>\s*\(", re.S)
KERNEL = re.compile(r"^__global__ void (\w+)\(", re.M)

source, output = sys.argv[1:]
text = open(source, encoding="utf-8").read()
kernels = KERNEL.findall(text)


def launch(match):
    name, configuration = match.groups()
    if name not in kernels:
        sys.exit(f"{source}: {name} is launched, but is no kernel of this file")
    return f"emulated::launch({name}, emulated::configuration({configuration}), "


text = LAUNCH.sub(launch, text)
if "<<<" in text:
    sys.exit(f"{source}: a launch that is not understood")
lines = [f'#line 1 "{source}"', text, "namespace", "{"]
lines += [f'const emulated::registered registered_{name}("{name}", {name});' for name in kernels]
lines += ["}", ""]
with open(output, "w", encoding="utf-8") as file:
    file.write("\n".join(lines))
