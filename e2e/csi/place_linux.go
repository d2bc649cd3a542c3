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

// place is where a node mounts volumes: the container of the process with this id, or this machine if it is 0.
type place int

// path returns the path by which this process reaches a path of the place.
func (p place) path(at string) string {
	if p == 0 {
		return at
	}
	return filepath.Join("/proc", strconv.Itoa(int(p)), "root") + at
}

// mounter returns a mounter that mounts, and runs the needed programs, in the place.
func (p place) mounter() *mount.SafeFormatAndMount {
	here := mount.New("")
	if p == 0 {
		return mount.NewSafeFormatAndMount(here, exec.New())
	}
	within := commands{Interface: exec.New(), place: p}
	return mount.NewSafeFormatAndMount(mounts{Interface: here, commands: within}, within)
}

// unmount removes a mount, and on demand the mount point. It is no error if there is no mount.
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

// attach creates a loop device for an image, or finds the existing one, and makes it visible in the place.
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

// commands runs the programs of a container in the container.
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

// mounts performs mounts in a container.
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

// IsMountPoint implements mount.Interface. The implementation of mount-utils resolves the path into the container to a
// path of this machine. The kernel itself reports whether a path is a mount point.
func (m mounts) IsMountPoint(at string) (bool, error) {
	not, err := m.IsLikelyNotMountPoint(m.commands.place.path(at))
	return err == nil && !not, err
}
