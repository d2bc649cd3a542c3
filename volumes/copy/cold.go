package copy

import (
	"fmt"
	"time"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/volumes"
)

// coldly returns why an ordinal of which nothing was copied while it ran is not to be stopped yet: the whole
// copy would exceed the downtime budget. It does not apply if the user set copy.warm to None, and so accepted
// that downtime.
func (v view) coldly() volumes.Verdict {
	done := v.Attempt.Warm
	if v.Down || v.Asked.Warm == api.CopyWarmNone || !v.automatic() {
		return volumes.Verdict{}
	}
	p := v.projectCold()
	if p.downtime() <= v.budget() {
		return volumes.Verdict{}
	}
	return blocked(volumes.ReasonCopyOverBudget,
		fmt.Sprintf("claim %s/%s of claim template %s cannot be copied while its ordinal runs: %s. It holds up to %s, so its ordinal would be down for about %s, %s to copy it and %s to read it again. copy.downtimeBudget is %s",
			v.Giver.Ref.Namespace, v.Giver.Ref.Name, v.Template, done.Refused, size(p.bytes), rounded(p.downtime()), rounded(p.delta), rounded(p.proof), v.budget()),
		fmt.Sprintf("allow the downtime of a whole copy: --volume %[1]s=copy,...,warm=none, or copy.warm: None for claim template %[1]s in spec.volumes; or raise copy.downtimeBudget: downtime=%[2]s; or cut over now: cutover=now. "+
			"Once the cause is removed, retry with warm=mount. The ordinal is not stopped until then", v.Template, short(p.roomy())))
}

// projectCold returns the projected downtime for a copy of the claim's full capacity.
func (v view) projectCold() projection {
	done, bytes := v.Attempt.Warm, v.Asked.Needed
	copied := done.Rate
	if copied == 0 {
		copied = v.assumedRate()
	}
	p := projection{outage: v.Outage.WithoutCopy(), bytes: bytes, rate: readRate(done), measured: done.ReadRate > 0}
	if bytes > 0 {
		p.delta, p.proof = max(lasts(float64(bytes), copied), time.Second), lasts(float64(bytes), p.rate)
	}
	return p
}
