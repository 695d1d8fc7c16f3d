#!/bin/sh
# Runs a command in the root file system of buildah's packages: build.sh ROOT SYSTEM CONTEXT WORK COMMAND...
#
# buildah starts itself again with an empty environment, so that its libraries have to be where the loader looks.
# Runs in a mount namespace of its own: all mounts end with it.
set -eu
root=$1 system=$2 context=$3 work=$4
shift 4
mount --bind "$system" "$system" # buildah remounts /, which has to be a mount point
mount --bind "$root/usr" "$system/usr"
mount -t proc proc "$system/proc"
mount --rbind /dev "$system/dev"
mount --rbind /sys "$system/sys"
mount --bind "$context" "$system/context"
mount -o remount,bind,ro "$system/context"
mount --bind "$work" "$system/work"
exec chroot "$system" "$@"
