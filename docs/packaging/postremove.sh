#!/bin/sh
# After the files are gone. The ledgers stay, whatever is asked: nobody can
# make them again.
set -e
if [ -d /run/systemd/system ]; then
    systemctl daemon-reload
fi
if [ "$1" = purge ] && [ -d /var/lib/tallystick ]; then
    echo 'tallystick: the ledgers are still in /var/lib/tallystick; delete them yourself'
fi
