package main

import (
	"net"
	"os"
	"strings"
)

// notify tells systemd how the program is (sd_notify(3)): a unit of
// Type=notify is up when it says READY=1. Without systemd it does nothing.
func notify(state string) {
	socket := os.Getenv("NOTIFY_SOCKET")
	if socket == "" {
		return
	}
	if rest, abstract := strings.CutPrefix(socket, "@"); abstract {
		socket = "\x00" + rest
	}
	conn, err := net.Dial("unixgram", socket)
	if err != nil {
		return // who started us does not listen: that is no reason not to serve
	}
	defer conn.Close()
	_, _ = conn.Write([]byte(state))
}
