#!/bin/sh
# Before the files go: stop the server. An upgrade restarts it afterwards.
set -e
if [ "$1" = remove ] && [ -d /run/systemd/system ]; then
    systemctl disable --now tallystick.service || true
fi
