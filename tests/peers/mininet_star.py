#!/usr/bin/python3
"""mininet_star.py: how long Mininet takes for a star of hosts, one line: milliseconds a host. For `make bench`, which runs it in network, mount and PID
namespaces of its own: Mininet makes bridges and devices in the network namespace that it is started in, and ends with them.

    mininet_star.py HOSTS MBIT     MBIT 0: links without a rate
"""
import sys
import time

from mininet.link import Link, TCLink
from mininet.log import setLogLevel
from mininet.net import Mininet
from mininet.nodelib import LinuxBridge
from mininet.topo import SingleSwitchTopo

hosts, mbit = int(sys.argv[1]), int(sys.argv[2])
setLogLevel("critical")
topology = SingleSwitchTopo(k=hosts, lopts={"bw": mbit} if mbit else {})
begin = time.monotonic()
network = Mininet(topo=topology, switch=LinuxBridge, controller=None, link=TCLink if mbit else Link, waitConnected=False)
network.start()
took = time.monotonic() - begin
first, last = network.hosts[0], network.hosts[-1]
last.cmd("socat -u TCP-LISTEN:5000,reuseaddr OPEN:/dev/null &")
reached = False
for attempt in range(20): # it must be a network; its listener and its ARP take a moment
    if first.cmd("echo hello | socat - TCP:%s:5000,connect-timeout=1 2>/dev/null; echo status $?" % last.IP()).strip() == "status 0":
        reached = True
        break
    time.sleep(0.1)
network.stop()
if not reached:
    sys.exit("mininet_star.py: the first host does not reach the last one")
print(f"{took * 1000 / hosts:.3g}")
