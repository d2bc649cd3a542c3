package move

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/e2e/fixture"
	"github.com/sliceshift/sliceshift/e2e/harness"
	"github.com/sliceshift/sliceshift/internal/records"
	"github.com/sliceshift/sliceshift/internal/treetest"
	"github.com/sliceshift/sliceshift/migration/engine"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/volumes"
)

// provenLater sets verify: Later, so that the volumes that ordinals leave are read whole after their start.
func provenLater(v *harness.Move) { v.Migration.Spec.Volumes[0].Copy.Verify = api.CopyVerifyLater }

// remember stores the history of a migration.
func (v *move) remember(m *api.Migration, _ engine.Outcome) error {
	if m.Status.History != nil {
		v.past = m.Status.History.DeepCopy()
	}
	return nil
}

// unproven lists the volumes on which ordinals run and whose sources were not read whole, although copy.verify was Later.
func unproven(h *api.History) (list []string) {
	last := map[string]api.PastSeal{}
	for _, seal := range h.Seals {
		last[fmt.Sprintf("%s of ordinal %d", seal.ClaimTemplate, seal.Ordinal)] = seal
	}
	for name, seal := range last {
		if seal.Verify == api.CopyVerifyLater && seal.ProvenTime.IsZero() {
			list = append(list, name)
		}
	}
	return list
}

// expectProven checks that each ordinal was copied with verify: Later, and that its copy is proven.
func (v *move) expectProven() {
	v.T.Helper()
	if v.past == nil {
		v.T.Fatal("no history was recorded")
	}
	later := map[int32]bool{}
	for _, seal := range v.past.Seals {
		later[seal.Ordinal] = seal.Verify == api.CopyVerifyLater
	}
	for ordinal := range v.App.Replicas {
		if !later[ordinal] {
			v.T.Errorf("ordinal %d has no seal with verify: Later: %+v", ordinal, v.past.Seals)
		}
	}
	if list := unproven(v.past); len(list) > 0 {
		v.T.Errorf("the migration is completed, and not proven are %v", list)
	}
}

// provenCopied does the same as copied, and checks that each copy is proven.
func (v *move) provenCopied() func() {
	looks := v.copied()
	return func() {
		looks()
		v.expectProven()
	}
}

// remembers stores the history of a migration that continues after a crash.
func (v *move) remembers(records.ConfigMap) harness.Report { return v.remember }

// awaitsAuditor returns a report that stops the migration after each take-over until the auditor has compared that copy.
// So no pod starts before.
func (v *move) awaitsAuditor() harness.Report {
	taken := 0
	return func(_ *api.Migration, outcome engine.Outcome) error {
		if e := outcome.Decision.Effect; outcome.Wrote && e.Verb == plan.CarryVolume && e.Volume.Verb == volumes.TakeOver {
			taken++
			v.Eventually("the auditor has compared the copy", func(context.Context) (bool, error) { return v.Auditor.Sealed() >= taken, nil })
		}
		return nil
	}
}

// TestCopyLater: with verify: Later an ordinal starts before the volume that it has left is read, and the migration is
// completed only after each of them was read whole and found equal. It starts with all writes, also with one that has not
// changed size and time of its file. The auditor, which compares before the start and at the end, agrees.
func TestCopyLater(t *testing.T) {
	t.Parallel()
	v := newMove(t, harness.Usual(2), harness.AcrossClusters, byCopy, provenLater)
	expect, before := v.provenCopied(), v.folders(v.Here())
	silent := filepath.Join(before[1], "silent")
	treetest.In(t, before[1]).File("silent", treetest.Bytes(9, little))
	warmed := harness.CopyStep(volumes.DeleteMover, volumes.RoleWarm)(func() error {
		treetest.In(t, before[1]).File("little", treetest.Bytes(8, little))
		return changeSilently(silent)
	})
	early := harness.Arrival(1)(func() error {
		if list := unproven(v.past); len(list) != 1 {
			t.Errorf("ordinal 1 has arrived, and not proven are %v", list)
		}
		return nil
	})
	v.Drive(v.Mover(), v.remember, warmed, early, v.awaitsAuditor())
	v.ExpectMoved()
	expect()
	v.expectSeals()
	if verdict := v.Audit(); verdict.ContentsCompared != 2 || verdict.ContentsSealed != 2 {
		t.Errorf("the auditor has compared %d contents, and %d before the start", verdict.ContentsCompared, verdict.ContentsSealed)
	}
}

// TestCopyLaterDiffers: the disk that an ordinal has left returns other bytes after the start than it had. The migration
// stalls and names the file, the ordinal keeps running on its copy, and nothing is deleted. The migration continues once
// the user has accepted the copy. The auditor finds the change, too.
func TestCopyLaterDiffers(t *testing.T) {
	t.Parallel()
	v := newMove(t, harness.Usual(1), harness.AcrossClusters, byCopy, provenLater)
	before, handles := v.filled(), v.handles(v.Here())
	content := treetest.Bytes(9, little)
	rotten := filepath.Join(before[0], "rotten")
	treetest.In(t, before[0]).File("rotten", content)
	mover, told := v.Mover(), ""
	rots := harness.Arrival(0)(func() error { return changeSilently(rotten) })
	stalls := harness.When(func(_ *api.Migration, outcome engine.Outcome) bool {
		hold := outcome.Decision.Hold
		if hold == nil || !hold.Stalled || hold.Reason != volumes.ReasonCopyProofDiffers {
			return false
		}
		told = hold.Message
		return true
	})(func() error {
		v.expectRuns(0)
		now := v.Migration.Spec.Volumes[0]
		now.Copy.AcceptDiffering = []int32{0}
		return mover.Store.Change(v.Ctx, records.Change{Volumes: []api.VolumeSpec{now}})
	})
	v.Drive(mover, v.remember, rots, stalls, v.awaitsAuditor())
	if !strings.Contains(told, "rotten") || !strings.Contains(told, "The ordinal keeps running") {
		t.Errorf("it says %q", told)
	}
	v.ExpectMoved()
	v.expectKept(handles)
	v.expectNoMovers()
	if have, err := os.ReadFile(filepath.Join(v.folders(v.There())[0], "rotten")); err != nil || !bytes.Equal(have, content) {
		t.Errorf("the copy does not have what the ordinal had at its stop: %v", err)
	}
	if seals := v.past.Seals; len(seals) != 1 || seals[0].AcceptedTime.IsZero() || !seals[0].ProvenTime.IsZero() {
		t.Errorf("recorded is %+v", seals)
	}
	verdict := v.Auditor.Finish(v.Ctx)
	if len(verdict.Violations) != 1 || !strings.Contains(verdict.Violations[0].Message, "has changed since its copy was sealed") || len(verdict.Unproved) > 0 {
		t.Errorf("the auditor says\n%s", verdict)
	}
}

// expectRuns checks that the pod of an ordinal at the destination is Ready.
func (v *move) expectRuns(ordinal int32) {
	v.T.Helper()
	at := v.There()
	pod, err := at.Client.CoreV1().Pods(at.Namespace).Get(v.Ctx, fmt.Sprintf("%s-%d", at.Set, ordinal), metav1.GetOptions{})
	v.Must(err)
	if !fixture.IsReady(pod) || pod.DeletionTimestamp != nil {
		v.T.Errorf("pod %s does not run: %+v", pod.Name, pod.Status)
	}
}

// changeSilently changes a byte of a file and leaves its size and time of modification.
func changeSilently(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	content[len(content)/2]++
	if err := os.WriteFile(path, content, info.Mode()); err != nil {
		return err
	}
	return os.Chtimes(path, info.ModTime(), info.ModTime())
}
