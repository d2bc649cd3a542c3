package csi

import (
	"context"
	"errors"
	"os"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Look makes a read-only copy of the current content of a volume accessible, whichever node has the volume. It returns
// the mount path, or the device. done removes the copy.
func (f *Folder) Look(ctx context.Context, id string) (at string, done func() error, err error) {
	dir, err := os.MkdirTemp(f.Dir, "look-")
	if err != nil {
		return "", nil, err
	}
	image, isDevice := dir+".image", false
	err = f.with(func(s *state) error {
		v, err := s.volume(id)
		if err != nil {
			return err
		}
		isDevice = v.Device
		return f.duplicate(ctx, s, v, image)
	})
	if err != nil {
		return "", nil, err
	}
	loop, err := attach(image)
	if err != nil {
		return "", nil, err
	}
	done = func() error { return errors.Join(unmount(dir, true), detach(loop), os.Remove(image)) }
	if isDevice {
		return loop, done, nil
	}
	if err := mountImage(loop, dir, true); err != nil {
		return "", nil, errors.Join(err, done())
	}
	return dir, done, nil
}

// mountImage mounts the file system of a loop device.
func mountImage(loop, dir string, readOnly bool) error {
	m := place(0).mounter()
	system, err := m.GetDiskFormat(loop)
	if err != nil {
		return err
	}
	var options []string
	switch {
	case readOnly && system == xfs:
		options = []string{"ro", "norecovery", "nouuid"}
	case readOnly:
		options = []string{"ro", "noload"}
	case system == xfs:
		options = []string{"nouuid"}
	}
	return m.Mount(loop, dir, system, options)
}

// Spoil changes the content of a snapshot of a file system, like a storage that has lost data. do gets the folder
// where it is mounted.
func (f *Folder) Spoil(id string, do func(dir string) error) error {
	return f.with(func(s *state) error {
		if _, found := s.Snapshots[id]; !found {
			return status.Errorf(codes.NotFound, "there is no snapshot %s", id)
		}
		dir, err := os.MkdirTemp(f.Dir, "spoil-")
		if err != nil {
			return err
		}
		loop, err := attach(f.image(id))
		if err != nil {
			return err
		}
		err = mountImage(loop, dir, false)
		if err == nil {
			err = do(dir)
		}
		return errors.Join(err, unmount(dir, true), detach(loop))
	})
}
