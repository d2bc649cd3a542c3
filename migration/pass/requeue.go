package pass

import (
	"time"

	"github.com/sliceshift/sliceshift/migration/plan"
	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// Times after which a process looks again although nothing it watches has changed: what it waits
// for then cannot be watched.
const (
	// RequeueRefused is for a preflight or a write that was refused.
	RequeueRefused = 5 * time.Second
	// RequeueUnreachable is for a cluster that does not answer.
	RequeueUnreachable = 2 * time.Second
	// RequeueUnobserved is for a write that the cache has not shown yet, or an object that had
	// changed since it was judged.
	RequeueUnobserved = 20 * time.Millisecond
	// RequeueAtLatest is for everything else: a lost event must not stop a migration.
	RequeueAtLatest = 30 * time.Second

	// mostRefusals is how many refusals in a row are more than ordinary conflicts make: the
	// wait doubles from RequeueUnobserved, so it is reached after about three seconds.
	mostRefusals = 8
	// reportAfter is how long a wait must last to be worth a write of the status.
	reportAfter = time.Second
	// awaitAtMost bounds how long a write is awaited in the cache.
	awaitAtMost = 2 * time.Second
)

// requeueAfter is when to look again after a decision though nothing that is watched has changed.
func requeueAfter(decision plan.Decision) time.Duration {
	hold := decision.Hold
	switch {
	case decision.Wait > 0:
		return min(RequeueAtLatest, decision.Wait)
	case hold == nil || !hold.Stalled:
		return RequeueAtLatest
	case hold.Reason == api.ReasonClusterUnreachable:
		return RequeueUnreachable
	default:
		return RequeueRefused
	}
}
