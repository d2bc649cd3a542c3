package move

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/e2e/auditor"
	"github.com/sliceshift/sliceshift/e2e/fixture"
	"github.com/sliceshift/sliceshift/e2e/harness"
	"github.com/sliceshift/sliceshift/internal/treediff"
	"github.com/sliceshift/sliceshift/internal/treetest"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/volumes"
)

// auditReplaced checks that the auditor has seen all ordinals on other volumes, and compared each.
func (v *move) auditReplaced() auditor.Report {
	v.T.Helper()
	verdict := v.Audit()
	if all := int(v.App.Replicas); verdict.Moved != all || verdict.ContentsCompared < all {
		v.T.Errorf("the auditor saw %d ordinals on other volumes, and compared %d contents", verdict.Moved, verdict.ContentsCompared)
	}
	return verdict
}

// TestStorageTraps: what other writers do while storage is changed in place does not harm an ordinal. The auditor watches.
func TestStorageTraps(t *testing.T) {
	for name, tc := range map[string]struct {
		setting harness.Setting
		during  func(*move, *fixture.Mover) []harness.Report
	}{
		"nothing happens":     {during: func(*move, *fixture.Mover) []harness.Report { return nil }},
		"the lowest first":    {harness.WithSpec(lowestFirst), func(*move, *fixture.Mover) []harness.Report { return nil }},
		"one of two is asked": {func(v *harness.Move) { v.App.Claims = []string{"data", "log"} }, func(*move, *fixture.Mover) []harness.Report { return nil }},
		"another pod uses the claim": {during: func(v *move, _ *fixture.Mover) []harness.Report {
			v.usedByAnother("data-web-1")
			return []harness.Report{harness.StalledWith(volumes.ReasonForeignPod)(func() error {
				return v.Source.CoreV1().Pods(v.App.Namespace).Delete(v.Ctx, "backup", metav1.DeleteOptions{GracePeriodSeconds: new(int64)})
			})}
		}},
		"the former templates are restored while an ordinal is down": {during: func(v *move, mover *fixture.Mover) []harness.Report {
			var set *appsv1.StatefulSet
			return []harness.Report{
				harness.OnVerb(plan.EvictPod, func() (err error) {
					if set, err = v.orphan(); err != nil {
						return err
					}
					return v.create(v.App.StatefulSet())
				}),
				harness.StalledWith(api.ReasonCopyTurnedBack)(func() error { return mover.Store.SetMode(v.Ctx, api.ModePause) }),
				harness.HeldWith(api.ReasonPaused)(func() error { return mover.Store.SetMode(v.Ctx, api.ModeRun) }),
				harness.StalledWith(api.ReasonTemplatesReverted)(func() error {
					if _, err := v.orphan(); err != nil {
						return err
					}
					return v.create(set)
				}),
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			settings := []harness.Setting{by((*move).inPlaceByCopy), harness.InPlace(&newSize)}
			if tc.setting != nil {
				settings = append(settings, tc.setting)
			}
			v := newMove(t, harness.Usual(2), settings...)
			finished := v.replaced()
			mover := v.Mover()
			v.Drive(mover, tc.during(v, mover)...)
			finished()
			v.auditReplaced()
		})
	}
}

// usedByAnother lets another pod use a claim.
func (v *move) usedByAnother(claim string) {
	v.T.Helper()
	_, err := v.Source.CoreV1().Pods(v.App.Namespace).Create(v.Ctx, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "backup"},
		Spec: corev1.PodSpec{
			Containers: []corev1.Container{{Name: "backup", Image: "backup:1"}},
			Volumes:    []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim}}}},
		},
	}, metav1.CreateOptions{})
	v.Must(err)
}

// TestStorageReturns: a change in place that is rolled back after an ordinal has arrived ends on volumes of the former
// templates, with the same content. The auditor watches.
func TestStorageReturns(t *testing.T) {
	t.Parallel()
	v := newMove(t, harness.Usual(2), by((*move).inPlaceByCopy), harness.InPlace(&newSize))
	before := v.filled()
	mover := v.Mover()
	v.Drive(mover, harness.Arrival(1)(func() error { return mover.Store.SetMode(v.Ctx, api.ModeRollback) }))
	v.expectClaims(standardClass, oldSize)
	for ordinal, folder := range v.folders(v.Here()) {
		treetest.Equal(t, before[ordinal], folder)
	}
	v.expectNoMovers()
	if verdict := v.Audit(); verdict.Moved != 1 || verdict.ContentsCompared < 2 {
		t.Errorf("the auditor saw %d ordinals on other volumes, and compared %d contents", verdict.Moved, verdict.ContentsCompared)
	}
}

// TestStorageReturnsUnready: the pod of an ordinal never becomes available on its new volume. A rollback takes its data back,
// with those that it has written there, although it is down. The auditor watches.
func TestStorageReturnsUnready(t *testing.T) {
	t.Parallel()
	const minReady = 10
	v := newMove(t, harness.Usual(2), by((*move).inPlaceByCopy), harness.InPlace(&newSize), outlasting(3*time.Minute),
		harness.WithSpec(func(s *api.MigrationSpec) { s.Handoff.MinReadySeconds = new(int32(minReady)) }))
	before, mover, broken := v.filled(), v.Mover(), false
	kept := filepath.Join(t.TempDir(), "kept") // what is written later is not written to the volume that the ordinal has left
	v.Must(treediff.Keep(v.Ctx, before[1], kept))
	before[1] = kept
	v.Drive(mover, harness.HeldWith(api.ReasonMinReady)(func() error {
		broken = true
		v.Auditor.Blame(1)
		v.breakPod("web-1")
		v.Eventually("the auditor has compared its volume", func(ctx context.Context) (bool, error) {
			pod, err := v.Source.CoreV1().Pods(v.App.Namespace).Get(ctx, "web-1", metav1.GetOptions{})
			return err == nil && v.Auditor.Judged(pod.UID, 1), err
		})
		return errors.Join(late(v.folders(v.Here())[1]), late(before[1]), mover.Store.SetMode(v.Ctx, api.ModeRollback))
	}))
	if !broken {
		t.Fatal("its pod was never awaited")
	}
	v.expectClaims(standardClass, oldSize)
	for ordinal, folder := range v.folders(v.Here()) {
		treetest.Equal(t, before[ordinal], folder)
	}
	v.expectNoMovers()
	if verdict := v.Audit(); verdict.Moved != 1 || verdict.ContentsCompared < 2 {
		t.Errorf("the auditor saw %d ordinals on other volumes, and compared %d contents", verdict.Moved, verdict.ContentsCompared)
	}
	if ready, err := v.isReady(v.Here(), "web-1"); err != nil || !ready {
		t.Errorf("web-1 is Ready: %t, %v", ready, err)
	}
}

// TestStorageRefusedEviction: an admission policy refuses the eviction of the pods. No claim is deleted, and the migration
// continues when the policy is removed.
func TestStorageRefusedEviction(t *testing.T) {
	t.Parallel()
	v := newMove(t, harness.Usual(2), by((*move).inPlaceByCopy), harness.InPlace(&newSize), outlasting(2*time.Minute))
	finished, name, stalled := v.replaced(), "keep-in-"+v.App.Namespace, false
	v.policy(v.Here(), name, admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"pods/eviction"}},
		admissionregistrationv1.Validation{Expression: "false", Message: "no evictions here"})
	v.Eventually("evictions are refused", func(ctx context.Context) (bool, error) {
		err := v.Source.CoreV1().Pods(v.App.Namespace).EvictV1(ctx, &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: "web-1"}, DeleteOptions: &metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}}})
		return err != nil && strings.Contains(err.Error(), "no evictions here"), nil
	})
	v.Run(harness.StalledWith(api.ReasonWriteRefused)(func() error {
		stalled = true
		claim, err := v.Source.CoreV1().PersistentVolumeClaims(v.App.Namespace).Get(v.Ctx, "data-web-1", metav1.GetOptions{})
		if err != nil || claim.DeletionTimestamp != nil || slices.Contains(claim.Finalizers, api.ClaimFinalizer) {
			return fmt.Errorf("claim %+v: %w", claim.ObjectMeta, err)
		}
		return v.Source.AdmissionregistrationV1().ValidatingAdmissionPolicyBindings().Delete(v.Ctx, name, metav1.DeleteOptions{})
	}))
	if !stalled {
		t.Error("the refusal was not found")
	}
	finished()
	v.auditReplaced()
}

// TestStorageOfDevices: a claim of mode Block gets a device of another class in place.
func TestStorageOfDevices(t *testing.T) {
	t.Parallel()
	v := newMove(t, harness.Usual(1), byCopy, harness.InPlace(nil), func(v *harness.Move) {
		former, next := "former-"+v.App.Namespace, "next-"+v.App.Namespace
		v.Deployed = func() { deviceOf(v, v.From, next, next) }
		v.Migration.Spec.Volumes[0].StorageClassName = &next
		deviceOf(v, v.From, former, former)
		useDevices(v, former)
	})
	before := v.places(v.Here(), "data")
	content := treetest.Bytes(7, deviceSize)
	clear(content[3<<20 : 9<<20]) // a range that was never written
	v.Must(os.WriteFile(before[0], content, 0))
	v.Run()
	after := v.places(v.Here(), "data")
	if found, err := treediff.Devices(before[0], after[0]); err != nil || len(found) > 0 || after[0] == before[0] {
		t.Errorf("%s and %s: %v %v", before[0], after[0], found, err)
	}
	v.expectNoMovers()
	v.auditReplaced()
}
