# SPDX-License-Identifier: Apache-2.0
# Tools for an agent: who we are, a call, a mistake in it, one that would write, a method that there is not, no JSON.
cat >requests <<'END'
{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":"two","method":"tools/call","params":{"name":"explain","arguments":{"words":["dependency"]}}}
{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"sim","arguments":{"machine":["custom_exampel"],"words":["traces/alexnet_infer_b1.llt"]}}}
{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"sim","arguments":{"machine":"custom_example","html":"x.html"}}}
{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"record","arguments":{"words":["alexnet"]}}}
{"jsonrpc":"2.0","id":6,"method":"resources/list"}
no JSON
END
leadline mcp <requests
echo '{"jsonrpc":"2.0","id":7,"method":"tools/list"}' | leadline mcp | grep -o '"name":"[a-z]*"'
echo '{"jsonrpc":"2.0","id":8,"method":"tools/list"}' | leadline mcp --writes | grep -o '"name":"[a-z]*"' | grep -c .
