package move

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sliceshift/sliceshift/e2e/harness"
	"github.com/sliceshift/sliceshift/internal/treetest"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/volumes"
)

// TestSnapshotSpoiled: a move cannot detect that a storage's snapshot lacks written data. The auditor, which
// compares the content itself, detects it when the ordinal starts on the new volume.
func TestSnapshotSpoiled(t *testing.T) {
	d := startSnapshots(t)
	v := newMove(t, harness.Usual(1), d.app(1), bySnapshot(diskDriver))
	v.write("before", v.mounted(v.Here(), d.sites[0]))
	mover := v.Mover()
	v.Drive(mover, snapshotted(volumes.RetainContent, plan.SourceSide)(func() error {
		stored, err := d.folder.Snapshots()
		for id := range stored {
			err = d.folder.Spoil(id, func(dir string) error { return os.Truncate(filepath.Join(dir, "before"), 2) })
		}
		return err
	}))
	v.ExpectMoved()
	verdict := v.Auditor.Finish(v.Ctx).String()
	for _, says := range []string{"its content is not that of", "before"} {
		if !strings.Contains(verdict, says) {
			t.Errorf("the auditor does not say %q:\n%s", says, verdict)
		}
	}
}

// asDevices makes the application use its disks as block devices.
func asDevices(v *harness.Move) {
	adapt := v.App.Adapt
	v.App.Adapt = func(set *appsv1.StatefulSet) {
		adapt(set)
		claim, container := &set.Spec.VolumeClaimTemplates[0].Spec, &set.Spec.Template.Spec.Containers[0]
		claim.VolumeMode = new(corev1.PersistentVolumeBlock)
		claim.Resources.Requests[corev1.ResourceStorage] = *resource.NewQuantity(deviceSize, resource.BinarySI)
		container.VolumeMounts, container.VolumeDevices = nil, []corev1.VolumeDevice{{Name: "data", DevicePath: "/dev/data"}}
	}
}

// TestSnapshotOfDevices: claims of mode Block move by a snapshot with identical bytes. As with file systems,
// the placeholder pod that makes a class provision the volume does not use its content.
func TestSnapshotOfDevices(t *testing.T) {
	d := startSnapshots(t)
	v := newMove(t, harness.Usual(1), d.app(1), bySnapshot(lateClass), asDevices)
	written, handles := filepath.Join(t.TempDir(), "written"), v.handles(v.Here())
	content := treetest.Bytes(7, deviceSize)
	clear(content[3<<20 : 9<<20]) // a range that was never written
	v.Must(errors.Join(os.WriteFile(written, content, 0o600), os.WriteFile(v.mounted(v.Here(), d.sites[0])[0], content, 0)))
	v.Run()
	v.ExpectMoved()
	v.same([]string{written}, v.mounted(v.There(), d.sites[1]))
	claim, err := v.Destination.CoreV1().PersistentVolumeClaims(v.ToNamespace).Get(v.Ctx, "data-"+v.ToName+"-0", metav1.GetOptions{})
	v.Must(err)
	if mode := claim.Spec.VolumeMode; mode == nil || *mode != corev1.PersistentVolumeBlock {
		t.Errorf("the claim is of mode %v", mode)
	}
	v.expectLeft(handles)
	v.expectNoMovers()
	v.expectNoSnapshots(d)
	if verdict := v.Audit(); verdict.ContentsCompared != 1 {
		t.Errorf("%d contents were compared, want 1", verdict.ContentsCompared)
	}
}
