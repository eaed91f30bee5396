# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""settings.py FOLDER JSON: writes FOLDER's generation_config.json, the token 2 as its end where JSON says no other."""
import json
import os
import sys

with open(os.path.join(sys.argv[1], "generation_config.json"), "w") as file:
    json.dump({"eos_token_id": 2, "pad_token_id": 0} | json.loads(sys.argv[2]), file)
