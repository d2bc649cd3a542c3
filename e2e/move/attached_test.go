package move

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"

	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/e2e/attacher"
	"github.com/sliceshift/sliceshift/e2e/harness"
	"github.com/sliceshift/sliceshift/internal/records"
	"github.com/sliceshift/sliceshift/migration/engine"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/volumes"
)

// attached gives each ordinal volumes of a CSI driver, which the attach controller attaches to the node of its
// pod. This setting must come after the setting of the destination. On kind it does nothing, because kubelets
// attach and mount volumes there.
func attached(v *harness.Move) {
	if !harness.Embeds() || len(v.App.Claims) == 0 {
		return
	}
	(&move{Move: v}).csiVolumes()
	v.Deployed = func() { (&move{Move: v}).awaitAttached() }
}

// awaitAttached waits until each volume of the source is attached to the node of its pod. The driver runs in
// both clusters. The source has no CSIDriver object for it, because that object is optional.
func (v *move) awaitAttached() {
	v.T.Helper()
	v.runDriver(v.Source, 50)
	v.csiNode(50)
	v.Eventually("the volumes are attached", func(ctx context.Context) (bool, error) {
		for _, pod := range v.sourcePods() {
			if is, err := attacher.Attached(ctx, v.Source, &pod); err != nil || !is {
				return false, err
			}
		}
		return true, nil
	})
}

// about returns a command for this move.
func (v *move) about(verb string, more ...string) *exec.Cmd {
	v.T.Helper()
	args := append([]string{verb, v.App.Name, "-n", v.App.Namespace, "--kubeconfig", v.From.Kubeconfig()}, more...)
	args = append(args, "--to-kubeconfig", v.To.Kubeconfig(), "--to-namespace", v.ToNamespace, "--to-name", v.ToName, "--create-namespace")
	if !slices.Contains(more, "--volume") {
		args = append(args, "--shared", strings.Join(v.App.Claims, ","))
	}
	return exec.CommandContext(v.Ctx, harness.Program(v.T, "migrate"), args...)
}

// agrees checks that plan and preflight report no obstacle to the move.
func (v *move) agrees(flags ...string) {
	v.T.Helper()
	for _, verb := range []string{"plan", "preflight"} {
		v.exits(v.about(verb, flags...), 0)
	}
}

// TestP1OneAnswer: with attached volumes, plan, preflight and run agree.
func TestP1OneAnswer(t *testing.T) {
	for name, tc := range map[string]struct {
		where harness.Setting
		flags []string
	}{
		"to another cluster":   {where: harness.AcrossClusters},
		"to another namespace": {where: harness.AcrossNamespaces},
		"under another name":   {where: harness.AcrossNames},
		"the lowest first":     {where: harness.AcrossClusters, flags: []string{"--order", "lowest-first"}},
		"one of them":          {where: harness.AcrossClusters, flags: []string{"--count", "1"}},
		"with new volumes":     {where: harness.AcrossClusters, flags: []string{"--volume", "data=empty,fills-from-peers,ready-when-filled,returns-to-kept"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := newMove(t, harness.Usual(3), tc.where, attached)
			v.agrees(tc.flags...)
			v.exits(v.about("run", append([]string{"--exit-on-stall", "--timeout", "90s"}, tc.flags...)...), 0)
		})
	}
}

// TestP1AttachedElsewhere: the plan does not assume either that an attachment to another node than the pod's is
// detached.
func TestP1AttachedElsewhere(t *testing.T) {
	t.Parallel()
	v := newMove(t, harness.Usual(2), harness.AcrossClusters, attached)
	v.attachElsewhere("web-1")
	if out := v.exits(v.about("plan"), 3); !strings.Contains(out, "node gone") {
		t.Errorf("the plan does not name the node:\n%s", out)
	}
}

// attachElsewhere attaches the volume of a pod to a node that does not exist.
func (v *move) attachElsewhere(pod string) {
	v.T.Helper()
	claim, err := v.Source.CoreV1().PersistentVolumeClaims(v.App.Namespace).Get(v.Ctx, "data-"+pod, metav1.GetOptions{})
	v.Must(err)
	name := "attach-" + v.App.Namespace
	_, err = v.Source.StorageV1().VolumeAttachments().Create(v.Ctx, &storagev1.VolumeAttachment{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       storagev1.VolumeAttachmentSpec{Attacher: v.driver(), NodeName: "gone", Source: storagev1.VolumeAttachmentSource{PersistentVolumeName: &claim.Spec.VolumeName}},
	}, metav1.CreateOptions{})
	v.Must(err)
	v.T.Cleanup(func() {
		_ = v.Source.StorageV1().VolumeAttachments().Delete(context.WithoutCancel(v.Ctx), name, metav1.DeleteOptions{})
	})
}

// named sets the destination's cluster in the record of the move, as a command does.
func (v *move) named() {
	v.T.Helper()
	system, err := v.Destination.CoreV1().Namespaces().Get(v.Ctx, metav1.NamespaceSystem, metav1.GetOptions{})
	v.Must(err)
	v.Migration.Annotations = map[string]string{records.DestinationAnnotationKey: string(system.UID)}
}

// TestP1RollbackWithoutDriver: a source whose nodes no longer run the driver cannot take an ordinal back. The
// plan of the rollback agrees with the run.
func TestP1RollbackWithoutDriver(t *testing.T) {
	t.Parallel()
	v := newMove(t, harness.Usual(2), harness.AcrossClusters, attached)
	v.named()
	mover, said := v.Mover(), false
	v.Drive(mover, harness.Arrival(0)(func() error {
		if err := mover.Store.SetMode(v.Ctx, api.ModeRollback); err != nil {
			return err
		}
		return v.forgetDriver()
	}), harness.StalledWith(volumes.ReasonDriverMissing)(func() error {
		said = true
		if out := v.exits(v.about("plan"), 3); !strings.Contains(out, "a moved pod could not mount its volume") {
			t.Errorf("the plan does not say what holds the run:\n%s", out)
		}
		v.runDriver(v.Source, 50)
		return v.expectPlan(api.ReasonRolledBack)
	}))
	if !said {
		t.Error("nothing has held the rollback")
	}
	v.ExpectBack()
	v.Audit()
}

// forgetDriver removes the driver from the nodes of the source.
func (v *move) forgetDriver() error {
	nodes, err := v.Source.StorageV1().CSINodes().List(v.Ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, node := range nodes.Items {
		patch := fmt.Sprintf(`{"spec":{"drivers":[{"name":%q,"$patch":"delete"}]}}`, v.driver())
		if _, err := v.Source.StorageV1().CSINodes().Patch(v.Ctx, node.Name, types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
			return err
		}
	}
	return nil
}

// expectPlan checks the outcome of a plan of the remaining move.
func (v *move) expectPlan(outcome string) error {
	var complaints bytes.Buffer
	cmd := v.about("plan", "-o", "json")
	cmd.Stderr = &complaints
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("plan: %w\n%s\n%s", err, out, complaints.Bytes())
	}
	var said struct {
		Outcome string `json:"outcome"`
	}
	if err := json.Unmarshal(out, &said); err != nil {
		return err
	}
	if said.Outcome != outcome {
		return fmt.Errorf("the plan ends with %q, want %q", said.Outcome, outcome)
	}
	return nil
}

// TestP1PlanInMidMove: at each of these moments, a plan of the remaining move completes, forward and in a
// rollback.
func TestP1PlanInMidMove(t *testing.T) {
	for name, where := range map[string]harness.Setting{"clusters": harness.AcrossClusters, "namespaces": harness.AcrossNamespaces} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := newMove(t, harness.Usual(2), where, attached)
			v.named()
			mover, back := v.Mover(), false
			looks := func(side plan.SideName, verb plan.Verb) harness.Report {
				return harness.WroteOn(side, verb)(func() error { return v.expectPlan(api.ReasonMoved) })
			}
			returns := func(side plan.SideName, verb plan.Verb) harness.Report {
				return harness.When(func(_ *api.Migration, outcome engine.Outcome) bool {
					e := outcome.Decision.Effect
					return back && outcome.Wrote && e.Side == side && e.Verb == verb
				})(func() error { return v.expectPlan(api.ReasonRolledBack) })
			}
			v.Drive(mover,
				looks(plan.SourceSide, plan.ScaleDown), looks(plan.DestinationSide, plan.CarryVolume), looks(plan.DestinationSide, plan.ScaleUp),
				harness.Arrival(0)(func() error {
					back = true
					if err := mover.Store.SetMode(v.Ctx, api.ModeRollback); err != nil {
						return err
					}
					return v.expectPlan(api.ReasonRolledBack)
				}),
				returns(plan.DestinationSide, plan.ScaleDown), returns(plan.SourceSide, plan.CarryVolume), returns(plan.SourceSide, plan.ScaleUp),
			)
			v.ExpectBack()
			v.Audit()
		})
	}
}
