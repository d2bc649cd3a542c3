package move

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sliceshift/sliceshift/cmd/migrate/kept"
	"github.com/sliceshift/sliceshift/e2e/harness"
	"github.com/sliceshift/sliceshift/internal/clusters"
	"github.com/sliceshift/sliceshift/internal/shell"
)

// listed returns the volumes that ordinals have left behind in a namespace of a cluster.
func (v *move) listed(at harness.Cluster, namespace string) []kept.Volume {
	v.T.Helper()
	connection, err := clusters.Connect("kept", at.RESTConfig())
	v.Must(err)
	all, err := kept.All(v.Ctx, connection.Live(), shell.Kubectl{Flags: "--context kept"})
	v.Must(err)
	return slices.DeleteFunc(all, func(volume kept.Volume) bool { return !strings.HasPrefix(volume.Claim, namespace+"/") })
}

// expectListed checks that every volume that ordinals have left behind, on both sides, is listed with the
// command that removes it. After a rollback by copy these are the original volumes and the copies that the
// ordinals came back from.
func (v *move) expectListed() {
	v.T.Helper()
	for _, all := range [][]kept.Volume{v.listed(v.From, v.App.Namespace), v.listed(v.To, v.ToNamespace)} {
		if len(all) == 0 {
			v.T.Error("on one side no volume is listed")
		}
		for _, volume := range all {
			if volume.Remove == "" || volume.Disk == "" {
				v.T.Errorf("it is not said which disk it has, or how it goes: %+v", volume)
			}
		}
	}
}

// TestKeptGoes: the commands that remove the volumes left behind by a move delete objects, but no disks. The
// source of a copy keeps its own disk, and the disk of a rebound volume is in use by the ordinal.
func TestKeptGoes(t *testing.T) {
	t.Parallel()
	for name, method := range map[string]func(*disks) harness.Setting{
		"copied":  func(d *disks) harness.Setting { return d.byCopy },
		"rebound": func(*disks) harness.Setting { return func(*harness.Move) {} },
	} {
		t.Run(name, func(t *testing.T) {
			d := startDisks(t)
			v := newMove(t, harness.Usual(2), d.app(2), method(d))
			data, before := v.fillAll(v.mounted(v.Here(), d.sites[0])), v.handles(v.Here())
			v.Run()
			v.removeKept(before)
			have, err := d.folder.Volumes()
			v.Must(err)
			for _, handle := range before {
				if _, is := have[strings.TrimPrefix(handle, diskDriver+"/")]; !is {
					t.Errorf("disk %s is gone: there are %+v", handle, have)
				}
			}
			v.same(data, v.mounted(v.There(), d.sites[1]))
		})
	}
}

// removeKept deletes the volumes that the source's ordinals have left behind, as the listed commands would, and
// waits until they are deleted.
func (v *move) removeKept(disks []string) {
	v.T.Helper()
	all, volumes := v.listed(v.From, v.App.Namespace), v.Source.CoreV1().PersistentVolumes()
	var listed []string
	for _, volume := range all {
		listed = append(listed, volume.Disk)
		if volume.Remove != "kubectl --context kept delete pv "+volume.Name {
			v.T.Fatalf("%q is not what is tried here", volume.Remove)
		}
		v.Must(volumes.Delete(v.Ctx, volume.Name, metav1.DeleteOptions{}))
	}
	if diff := cmp.Diff(slices.Sorted(slices.Values(disks)), slices.Sorted(slices.Values(listed))); diff != "" {
		v.T.Errorf("disks that are listed (-want +got):\n%s", diff)
	}
	v.Eventually("the volumes that were left behind are gone", func(ctx context.Context) (bool, error) {
		for _, volume := range all {
			if _, err := volumes.Get(ctx, volume.Name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
				return false, err
			}
		}
		return true, nil
	})
}
