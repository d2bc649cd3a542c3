package copy

import (
	"cmp"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/volumes"
)

// torn reports whether the disk of this attempt has failed.
func (v view) torn() bool {
	return v.Attempt.Number > 0 && v.Attempt.Torn.Attempt == v.Attempt.Number
}

// tore records that the disk of this attempt has failed: nothing that was written there can be trusted.
func (v view) tore() volumes.Verdict {
	next := v.Attempt
	next.Torn = api.CopyTorn{
		Times: v.Attempt.Torn.Times + 1, Attempt: next.Number, Time: metav1.NewTime(v.Now),
		Message: cut(cmp.Or(v.Receiver.Result.Message, "its mover did not say why")),
	}
	return volumes.Verdict{Attempt: &next}
}

// afterTorn begins another attempt on a new disk, after a pause that grows with each failure: a class that retains
// volumes leaves the old one. Meanwhile the failed disk can be inspected. If the user deletes its claim, the next attempt begins at once.
func (v view) afterTorn() volumes.Verdict {
	return volumes.First(v.removeAll, func() volumes.Verdict {
		in, torn := v.Incoming, v.Attempt.Torn
		left := v.left(growing(torn.Times), torn.Time.Time)
		if !in.Claim.Found || in.Claim.Terminating || left == 0 {
			return v.begin()
		}
		rests := "Its ordinal runs on meanwhile"
		if !v.warming {
			rests = "Its ordinal is down meanwhile, and its own volume is intact: spec.mode: Rollback returns it there"
		}
		return blocked(volumes.ReasonCopyStuck,
			fmt.Sprintf("claim %s/%s is not copied: the new disk has failed in %d attempts, one after the other. The last one is volume %s of claim %s/%s on the other side: %s. The next attempt, on another disk, begins at %s. %s",
				v.Giver.Ref.Namespace, v.Giver.Ref.Name, torn.Times, cmp.Or(in.Volume.Name, "(none)"), in.Ref.Namespace, in.Ref.Name, torn.Message, v.Now.Add(left).UTC().Format(time.RFC3339), rests),
			fmt.Sprintf("check the storage there: %s, and the log of its CSI driver; repair it, or name another class: storageClassName of claim template %s in spec.volumes (--storage-class %s=CLASS). To retry at once: %s",
				in.DescribeVolume(), v.Template, v.Template, in.Delete()))
	})
}

// tornBefore describes the failed disks of earlier attempts; empty if there were none.
func (v view) tornBefore() string {
	torn := v.Attempt.Torn
	if torn.Times == 0 {
		return ""
	}
	return fmt.Sprintf("; the new disk has failed in %d attempts before, the last time: %s", torn.Times, torn.Message)
}
