package csi

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
	mount "k8s.io/mount-utils"
	"k8s.io/utils/exec"
)

// place is where a node mounts volumes: the container of a process with this number, or 0, which is this machine.
type place int

// path is where this process finds a path of the place.
func (p place) path(at string) string {
	if p == 0 {
		return at
	}
	return filepath.Join("/proc", strconv.Itoa(int(p)), "root") + at
}

// mounter mounts there, and runs there what that takes.
func (p place) mounter() *mount.SafeFormatAndMount {
	here := mount.New("")
	if p == 0 {
		return mount.NewSafeFormatAndMount(here, exec.New())
	}
	within := commands{Interface: exec.New(), place: p}
	return mount.NewSafeFormatAndMount(mounts{Interface: here, commands: within}, within)
}

// unmount ends a mount. What was made for it is removed on demand; nothing is wrong when there is none.
func (p place) unmount(at string, remove bool) error {
	if p == 0 {
		return unmount(at, remove)
	}
	m := p.mounter()
	switch mounted, err := m.IsMountPoint(at); {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case mounted:
		if out, err := m.Exec.Command("umount", at).CombinedOutput(); err != nil {
			return fmt.Errorf("unmount %s: %w: %s", at, err, out)
		}
	}
	return removed(p.path(at), remove)
}

// attach makes a loop device of an image, or finds the one that there is, and has the place know it.
func (p place) attach(image string) (device string, err error) {
	device, err = attach(image)
	if p == 0 || err != nil {
		return device, err
	}
	var of unix.Stat_t
	if err := unix.Stat(device, &of); err != nil {
		return "", fmt.Errorf("stat %s: %w", device, err)
	}
	if err := unix.Mknod(p.path(device), unix.S_IFBLK|0o660, int(of.Rdev)); err != nil && !errors.Is(err, unix.EEXIST) {
		return "", fmt.Errorf("make %s: %w", p.path(device), err)
	}
	return device, nil
}

// commands runs programs of a container in it.
type commands struct {
	exec.Interface
	place place
}

// Command implements exec.Interface.
func (c commands) Command(name string, args ...string) exec.Cmd {
	return c.CommandContext(context.Background(), name, args...)
}

// CommandContext implements exec.Interface.
func (c commands) CommandContext(ctx context.Context, name string, args ...string) exec.Cmd {
	enter := []string{"--target", strconv.Itoa(int(c.place)), "--mount", "--pid", "--", name}
	return c.Interface.CommandContext(ctx, "nsenter", append(enter, args...)...)
}

// mounts are made in a container.
type mounts struct {
	mount.Interface
	commands commands
}

// Mount implements mount.Interface.
func (m mounts) Mount(source, target, system string, options []string) error {
	return m.MountSensitive(source, target, system, options, nil)
}

// MountSensitive implements mount.Interface; nothing that a test mounts is sensitive.
func (m mounts) MountSensitive(source, target, system string, options, _ []string) error {
	out, err := m.commands.Command("mount", mount.MakeMountArgs(source, target, system, options)...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("mount %s at %s: %w: %s", source, target, err, out)
	}
	return nil
}

// IsMountPoint implements mount.Interface. That of mount-utils follows the way into the container to its end, which is
// a path of this machine; the kernel itself says of a path whether something is mounted there.
func (m mounts) IsMountPoint(at string) (bool, error) {
	not, err := m.IsLikelyNotMountPoint(m.commands.place.path(at))
	return err == nil && !not, err
}
