package move

import (
	"context"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/e2e/fixture"
	"github.com/sliceshift/sliceshift/e2e/harness"
	"github.com/sliceshift/sliceshift/internal/treetest"
	"github.com/sliceshift/sliceshift/migration/engine"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/volumes"
	"github.com/sliceshift/sliceshift/volumes/copy/manifest"
)

// TestCopyProofOfAFailingDisk: the disk that an ordinal has left returns errors when it is read after the start. The
// migration stalls with that reason while the ordinal runs, and nothing is deleted. Once the disk can be read again,
// another mover reads it whole, and the copy is proven.
func TestCopyProofOfAFailingDisk(t *testing.T) {
	t.Parallel()
	v := newMove(t, harness.Usual(1), harness.AcrossClusters, byCopy, provenLater)
	before, handles := v.folders(v.Here()), v.handles(v.Here())
	disk := treetest.NewDiskAt(t, "ext4", before[0])
	treetest.In(t, before[0]).File("much", treetest.Bytes(7, much))
	var repair func() error
	fails := harness.Arrival(0)(func() (err error) {
		repair, err = disk.FailReads()
		return err
	})
	told := false
	stalls := harness.StalledWith(volumes.ReasonCopyProofUnread)(func() error {
		told = true
		v.expectRuns(0)
		return nil
	})
	repairs := harness.When(func(m *api.Migration, _ engine.Outcome) bool {
		return len(m.Status.Proofs) > 0 && m.Status.Proofs[0].Volumes[0].Copy.Seal.Proof.Tries > 0
	})(func() error { return repair() })
	v.Drive(v.Mover(), v.remember, fails, repairs, stalls)
	if !told {
		t.Error("the user was not told that the disk cannot be read")
	}
	v.ExpectMoved()
	v.expectCopies(v.There(), before)
	v.expectKept(handles)
	v.expectNoMovers()
	v.expectProven()
	v.Audit()
}

// TestCopyMoversDieAfterTheSeal: both movers are lost between the seal and the start. The result of their pass is
// recorded, so the ordinal starts on its copy without another pass.
func TestCopyMoversDieAfterTheSeal(t *testing.T) {
	for name, verb := range map[string]volumes.Verb{"before the take-over": volumes.Park, "after the take-over": volumes.TakeOver} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := newMove(t, harness.Usual(1), harness.AcrossClusters, byCopy, provenLater)
			before, seen, passes := v.filled(), &copyOf{}, int32(0)
			sealed := harness.Wrote(func(e *plan.Effect) bool {
				return e.Verb == plan.CarryVolume && e.Volume.Verb == verb && e.Side == plan.DestinationSide
			})
			dies := sealed(func() error {
				passes = seen.last.Passes
				for _, at := range []harness.Endpoint{v.Here(), v.There()} {
					all := metav1.ListOptions{LabelSelector: manifest.RoleLabelKey}
					if err := at.Client.CoreV1().Pods(at.Namespace).DeleteCollection(v.Ctx, metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))}, all); err != nil {
						return err
					}
				}
				return nil
			})
			again := harness.When(func(_ *api.Migration, outcome engine.Outcome) bool {
				e := outcome.Decision.Effect
				return outcome.Wrote && e.Verb == plan.CarryVolume && e.Volume.Verb == volumes.CreateMover && e.Volume.Copy.Role != volumes.RoleProver && seen.last.Seal.Root != ""
			})(func() error {
				t.Error("a mover is created although the copy is sealed")
				return nil
			})
			v.Drive(v.Mover(), seen.report, dies, again, v.remember)
			v.ExpectMoved()
			v.expectCopies(v.There(), before)
			v.expectNoMovers()
			v.expectSeals()
			v.expectProven()
			if seen.last.Passes != passes {
				t.Errorf("%d passes have differed", seen.last.Passes)
			}
			v.Audit()
		})
	}
}

// TestCopyLinkBreaksEverySecond: all connections between the movers break every second, in each pass. The same attempt
// continues with the data that have arrived.
func TestCopyLinkBreaksEverySecond(t *testing.T) {
	t.Parallel()
	v := newMove(t, harness.Usual(1), harness.AcrossClusters, byCopy, slowly, provenLater)
	before, seen := v.large(), &copyOf{}
	attempts := map[int32]bool{}
	count := func(*api.Migration, engine.Outcome) error {
		if seen.last.Number > 0 {
			attempts[seen.last.Number] = true
		}
		return nil
	}
	stop := v.breaksLinks(time.Second)
	v.Drive(v.Mover(), seen.report, count, v.remember)
	if broken := stop(); broken < 3 {
		t.Errorf("only %d connections were broken", broken)
	}
	v.ExpectMoved()
	v.expectCopies(v.There(), before)
	v.expectNoMovers()
	v.expectSeals()
	v.expectProven()
	if len(attempts) != 1 {
		t.Errorf("it took %d attempts", len(attempts))
	}
	v.Audit()
}

// breaksLinks breaks all connections to movers at an interval, until stop is called, which returns how many were broken.
func (v *move) breaksLinks(each time.Duration) (stop func() int) {
	v.T.Helper()
	at, broken := harness.Player(v.T, v.To), 0
	ctx, cancel := context.WithCancel(v.Ctx)
	v.T.Cleanup(cancel)
	var running sync.WaitGroup
	running.Go(func() {
		for fixture.Pass(ctx, each) == nil {
			broken += at.BreakForwards(v.ToNamespace)
		}
	})
	return func() int {
		cancel()
		running.Wait()
		return broken
	}
}
