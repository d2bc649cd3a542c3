package move

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/e2e/harness"
	"github.com/sliceshift/sliceshift/internal/treetest"
	"github.com/sliceshift/sliceshift/migration/engine"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/volumes"
)

// byCopy moves the volumes of claim template data by method Copy. Players run its pods in both clusters.
func byCopy(v *harness.Move) {
	treetest.NeedRoot(v.T)
	harness.Player(v.T, v.From)
	harness.Player(v.T, v.To)
	v.Migration.Spec.Volumes = []api.VolumeSpec{{
		ClaimTemplate: "data", Method: api.MethodCopy, Copy: api.CopySpec{Image: "mover", ServiceType: corev1.ServiceTypeLoadBalancer, Devices: true},
	}}
}

// filled fills the source's volumes with data that a mover must preserve. It returns copies of their folders,
// by ordinal.
func (v *move) filled() []string {
	v.T.Helper()
	folders := v.folders(v.Here())
	for ordinal, folder := range folders {
		tree := treetest.In(v.T, folder)
		tree.Everything()
		tree.File("ordinal", fmt.Appendf(nil, "data of ordinal %d", ordinal))
	}
	return folders
}

// folders returns the folders behind the claims of a slice, by ordinal.
func (v *move) folders(at harness.Endpoint) []string { return v.places(at, "data") }

// places returns the folders or devices behind the claims of a template in a slice, by ordinal.
func (v *move) places(at harness.Endpoint, template string) []string {
	v.T.Helper()
	var places []string
	for ordinal := range v.App.Replicas {
		claim, err := at.Client.CoreV1().PersistentVolumeClaims(at.Namespace).Get(v.Ctx, fmt.Sprintf("%s-%s-%d", template, at.Set, ordinal), metav1.GetOptions{})
		v.Must(err)
		volume, err := at.Client.CoreV1().PersistentVolumes().Get(v.Ctx, claim.Spec.VolumeName, metav1.GetOptions{})
		v.Must(err)
		if volume.Spec.Local != nil {
			places = append(places, volume.Spec.Local.Path)
			continue
		}
		places = append(places, volume.Spec.HostPath.Path)
	}
	return places
}

// expectCopies checks that each ordinal has its own data on a new disk.
func (v *move) expectCopies(at harness.Endpoint, before []string) {
	v.T.Helper()
	for ordinal, folder := range v.folders(at) {
		if folder == before[ordinal] {
			v.T.Errorf("ordinal %d is on the disk that it had", ordinal)
		}
		treetest.Equal(v.T, before[ordinal], folder)
	}
}

// moversEndWithin is the time that the garbage collector may need to delete the pods of a copy after its claims
// are deleted.
const moversEndWithin = 10 * time.Second

// expectNoMovers checks that no pods and claims of copies remain.
func (v *move) expectNoMovers() {
	v.T.Helper()
	var left []string
	err := wait.PollUntilContextTimeout(v.Ctx, 20*time.Millisecond, moversEndWithin, true, func(ctx context.Context) (bool, error) {
		here, err := moversOf(ctx, v.Here())
		if err != nil {
			return false, err
		}
		there, err := moversOf(ctx, v.There())
		left = slices.Concat(here, there)
		return len(left) == 0, err
	})
	if err != nil {
		v.T.Errorf("%v are left: %v", left, err)
	}
}

// moversOf lists the pods and claims of copies in a namespace.
func moversOf(ctx context.Context, at harness.Endpoint) (found []string, err error) {
	ours := metav1.ListOptions{LabelSelector: api.MigrationLabelKey}
	pods, err := at.Client.CoreV1().Pods(at.Namespace).List(ctx, ours)
	if err != nil {
		return nil, err
	}
	claims, err := at.Client.CoreV1().PersistentVolumeClaims(at.Namespace).List(ctx, ours)
	if err != nil {
		return nil, err
	}
	for i := range pods.Items {
		found = append(found, "pod "+pods.Items[i].Name)
	}
	for i := range claims.Items {
		found = append(found, "claim "+claims.Items[i].Name)
	}
	return found, nil
}

// TestCopyMoves: ordinals move between two clusters that share no disk. Each starts on a new disk with all of
// its data, and the old volume is kept.
func TestCopyMoves(t *testing.T) {
	t.Parallel()
	v := newMove(t, harness.Usual(2), harness.AcrossClusters, byCopy)
	v.runByCopy()
}

// runByCopy moves the whole application. Afterwards each ordinal is on a new, sealed disk with all of its data,
// and the old volume is kept.
func (v *move) runByCopy() {
	v.T.Helper()
	expect := v.copied()
	noted := map[int32]string{}
	v.Run(func(m *api.Migration, _ engine.Outcome) error {
		if history := m.Status.History; history != nil {
			for _, seal := range history.Seals {
				noted[seal.Ordinal] = seal.Root
			}
		}
		return nil
	})
	v.ExpectMoved()
	expect()
	if diff := cmp.Diff(v.expectSeals(), noted); diff != "" {
		v.T.Errorf("what is noted differs from what the volumes bear (-volumes +noted):\n%s", diff)
	}
	v.Audit()
}

// expectSeals checks that each new volume has the root hash that both sides computed. It returns these hashes
// by ordinal.
func (v *move) expectSeals() map[int32]string {
	v.T.Helper()
	seals := map[int32]string{}
	for ordinal := range v.App.Replicas {
		at := v.There()
		claim, err := at.Client.CoreV1().PersistentVolumeClaims(at.Namespace).Get(v.Ctx, fmt.Sprintf("data-%s-%d", at.Set, ordinal), metav1.GetOptions{})
		v.Must(err)
		volume, err := at.Client.CoreV1().PersistentVolumes().Get(v.Ctx, claim.Spec.VolumeName, metav1.GetOptions{})
		v.Must(err)
		seals[ordinal] = volume.Annotations[api.SealAnnotationKey]
		if !strings.HasPrefix(seals[ordinal], "blake3:") {
			v.T.Errorf("volume %s of ordinal %d has the seal %q", volume.Name, ordinal, seals[ordinal])
		}
	}
	return seals
}

// TestCopyTurnsBack: until the copy is taken over, a rollback returns an ordinal to its original disk.
func TestCopyTurnsBack(t *testing.T) {
	for name, at := range map[string]harness.Moment{
		"warm sender made": harness.CopyStep(volumes.CreateMover, volumes.RoleWarm),
		"reads beside it":  harness.CopyStep(volumes.TellMover, volumes.RoleWarm),
		"released":         harness.CopyStep(volumes.Release, ""),
		"receiver made": harness.Wrote(func(e *plan.Effect) bool {
			return e.Verb == plan.CarryVolume && e.Volume.Verb == volumes.CreateMover && e.Volume.Copy.Role == volumes.RoleReceiver && !e.Volume.Copy.Warm
		}),
		"sender let begin": harness.CopyStep(volumes.TellMover, volumes.RoleSender),
		"sealed": harness.Wrote(func(e *plan.Effect) bool {
			return e.Verb == plan.CarryVolume && e.Volume.Verb == volumes.Park && e.Side == plan.DestinationSide
		}),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := newMove(t, harness.Usual(1), harness.AcrossClusters, byCopy)
			before, disks := v.filled(), v.disks()
			mover := v.Mover()
			v.Drive(mover, at(func() error { return mover.Store.SetMode(v.Ctx, api.ModeRollback) }))
			v.expectHome()
			if after := v.disks(); !maps.Equal(after, disks) {
				t.Errorf("the disks are %v, and were %v", after, disks)
			}
			v.expectNothingLeft()
			v.Must(mover.Store.SetMode(v.Ctx, api.ModeRun))
			v.Drive(mover)
			v.ExpectMoved()
			v.expectCopies(v.There(), before)
			v.Audit()
		})
	}
}

// expectNothingLeft checks that nothing of a rolled-back copy remains on either side: no pod, claim or Service,
// and no volume except those of the ordinals.
func (v *move) expectNothingLeft() {
	v.T.Helper()
	for _, at := range []harness.Endpoint{v.Here(), v.There()} {
		var left []string
		v.T.Cleanup(func() {
			if v.T.Failed() {
				v.T.Logf("left in namespace %s: %v", at.Namespace, left)
			}
		})
		v.Eventually("nothing is left of a copy in namespace "+at.Namespace, func(ctx context.Context) (found bool, err error) {
			left, err = leftOfCopies(ctx, at)
			return len(left) == 0, err
		})
	}
}

// leftOfCopies lists the copy objects on a side, and the volumes of its namespace that belong to no ordinal's
// claim.
func leftOfCopies(ctx context.Context, at harness.Endpoint) ([]string, error) {
	var left []string
	labelled := metav1.ListOptions{LabelSelector: api.MigrationLabelKey}
	core := at.Client.CoreV1()
	pods, err := core.Pods(at.Namespace).List(ctx, labelled)
	if err != nil {
		return nil, err
	}
	for i := range pods.Items {
		left = append(left, "pod "+pods.Items[i].Name)
	}
	claims, err := core.PersistentVolumeClaims(at.Namespace).List(ctx, labelled)
	if err != nil {
		return nil, err
	}
	for i := range claims.Items {
		left = append(left, "claim "+claims.Items[i].Name)
	}
	services, err := core.Services(at.Namespace).List(ctx, labelled)
	if err != nil {
		return nil, err
	}
	for i := range services.Items {
		left = append(left, "Service "+services.Items[i].Name)
	}
	all, err := core.PersistentVolumes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	for i := range all.Items {
		ref := all.Items[i].Spec.ClaimRef
		if ref != nil && ref.Namespace == at.Namespace && !strings.HasPrefix(ref.Name, "data-"+at.Set+"-") {
			left = append(left, fmt.Sprintf("volume %s of claim %s", all.Items[i].Name, ref.Name))
		}
	}
	return left, nil
}

// expectHome checks that the source runs all ordinals again.
func (v *move) expectHome() {
	v.T.Helper()
	v.ExpectSlice(v.Here(), 0, v.App.Replicas)
	v.ExpectVolumes(v.Here(), v.App.Replicas)
	v.ExpectBudget(v.Here())
}

// TestCopyComesBack: after the copy is taken over, a rollback copies the ordinal back to a new volume. The old
// volume is never written.
func TestCopyComesBack(t *testing.T) {
	t.Parallel()
	v := newMove(t, harness.Usual(2), harness.AcrossClusters, byCopy)
	before, handles := v.filled(), v.handles(v.Here())
	mover := v.Mover()
	v.Drive(mover, harness.Arrival(0)(func() error { return mover.Store.SetMode(v.Ctx, api.ModeRollback) }))
	v.expectHome()
	v.expectCopies(v.Here(), before)
	v.expectKept(handles)
	v.expectListed()
	v.Audit()
}
