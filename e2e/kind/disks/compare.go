package disks

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"

	"github.com/sliceshift/sliceshift/e2e/csi/site"
	"github.com/sliceshift/sliceshift/internal/program"
	"github.com/sliceshift/sliceshift/internal/treediff"
)

// Compare returns the differences between two disks, one per line, except lines added to the journals of the second
// disk, where a started replica writes. The first disk must not be written. dir is an empty folder for copies of the
// two disks.
func (d *Disks) Compare(ctx context.Context, dir, from, to string) ([]string, error) {
	one, other := filepath.Join(dir, "one"), filepath.Join(dir, "other")
	if err := errors.Join(d.take(ctx, from, one), d.take(ctx, to, other)); err != nil {
		return nil, err
	}
	return lost(ctx, one, other)
}

// take copies the current content of a disk into a folder.
func (d *Disks) take(ctx context.Context, handle, into string) error {
	at, done, err := d.Folder.Look(ctx, handle)
	if err != nil {
		return err
	}
	_, err = program.In{}.Output(ctx, "cp", "-a", at, into)
	return errors.Join(err, done())
}

// lost returns the differences between two folders. It first truncates the journals in now to their length in of.
func lost(ctx context.Context, of, now string) ([]string, error) {
	journals, err := filepath.Glob(filepath.Join(of, "*", "journal"))
	if err != nil {
		return nil, err
	}
	if len(journals) == 0 {
		return []string{"there was no journal"}, nil
	}
	for _, path := range journals {
		name, err := filepath.Rel(of, path)
		if err == nil {
			err = cut(path, filepath.Join(now, name))
		}
		if err != nil {
			return []string{err.Error()}, nil //nolint:nilerr // a journal that is not there is a difference
		}
	}
	return treediff.Compare(ctx, of, now)
}

// cut truncates a journal to the length of another one.
func cut(of, journal string) error {
	before, err := os.Stat(of)
	if err != nil {
		return err
	}
	now, err := os.Stat(journal)
	if err != nil {
		return err
	}
	if now.Size() < before.Size() {
		return nil // data is missing, which the comparison shows
	}
	return errors.Join(os.Truncate(journal, before.Size()), os.Chtimes(journal, before.ModTime(), before.ModTime()))
}

// Snapshots returns all VolumeSnapshots and VolumeSnapshotContents of the clusters, and the snapshots in the storage
// backend.
func (d *Disks) Snapshots(ctx context.Context) (names []string, err error) {
	for _, s := range d.sites {
		c := s.Cluster
		client, err := dynamic.NewForConfig(c.Config)
		if err != nil {
			return nil, err
		}
		for _, resource := range []string{"volumesnapshots", "volumesnapshotcontents"} {
			found, err := client.Resource(site.SnapshotVersion.WithResource(resource)).List(ctx, metav1.ListOptions{})
			if err != nil {
				return nil, fmt.Errorf("cluster %s: %w", c.Name, err)
			}
			for i := range found.Items {
				names = append(names, fmt.Sprintf("cluster %s: %s %s", c.Name, found.Items[i].GetKind(), found.Items[i].GetName()))
			}
		}
	}
	stored, err := d.Folder.Snapshots()
	for id := range stored {
		names = append(names, "storage: "+id)
	}
	return names, err
}

// used returns the disks that are in use on a node.
func (d *Disks) used() (ids []string, err error) {
	all, err := d.Folder.Volumes()
	for id, v := range all {
		if v.Node != "" || len(v.Published) > 0 {
			ids = append(ids, id)
		}
	}
	return ids, err
}

// remove deletes the PersistentVolumes of the driver and waits until they no longer exist. The sidecars must still
// run.
func remove(ctx context.Context, s Site) error {
	volumes := s.Cluster.Client.CoreV1().PersistentVolumes()
	var left []string
	err := wait.PollUntilContextCancel(ctx, poll, true, func(ctx context.Context) (bool, error) {
		all, err := volumes.List(ctx, metav1.ListOptions{})
		if err != nil {
			return false, err
		}
		left = left[:0]
		var errs []error
		for i := range all.Items {
			if volume := &all.Items[i]; s.made(volume) {
				left = append(left, volume.Name)
				if volume.DeletionTimestamp == nil {
					errs = append(errs, ignoreNotFound(volumes.Delete(ctx, volume.Name, metav1.DeleteOptions{})))
				}
			}
		}
		return len(left) == 0, errors.Join(errs...)
	})
	if err != nil {
		return fmt.Errorf("cluster %s: volumes %v do not go: %w", s.Cluster.Name, left, err)
	}
	return nil
}

// made reports whether a volume belongs to the driver.
func (s Site) made(volume *corev1.PersistentVolume) bool {
	return volume.Spec.CSI != nil && volume.Spec.CSI.Driver == s.Driver
}

func ignoreNotFound(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
