package copy

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/volumes"
)

const (
	// assumed is the rate of reads and sends in bytes a second, if none was measured.
	assumed = 50 << 20
	// fast is the rate in bytes a second at which even good storage reads one volume: 2 GiB, as one NVMe disk
	// of a local node does (PCIe 3.0 x4 carries 3.9 GB/s). Before the first measurement, no warning is given
	// for a volume that would fit at this rate.
	fast = 2 << 30
	// telling is the least that a pass must have written for its rate to be meaningful.
	telling = 8 << 20
	// settling is the number of warm passes after which data that are still young are written all the time.
	settling = 3
)

// projection is the projected downtime of an ordinal if it were stopped now.
type projection struct {
	// outage is how long the ordinal is down apart from the last pass.
	outage volumes.Outage
	// delta is the time for changes since the last warm pass began, and proof the time to read all of it again.
	delta, proof time.Duration
	// bytes are read for the proof, at rate. trusted bytes are not read, and young bytes would not be after
	// another warm pass.
	bytes, rate, trusted, young int64
	// measured is true if the rate was measured. later is true if the other side is read after the start.
	measured, later bool
}

func (p projection) handover() time.Duration { return p.outage.Lasts() }

func (p projection) downtime() time.Duration { return p.handover() + p.delta + p.proof }

// helps reports whether another warm pass may bring the downtime below a budget.
func (p projection) helps(budget time.Duration) bool {
	return p.downtime() > budget && p.handover()+p.proof < budget
}

// settles reports whether a later warm pass may bring the downtime below a budget: the data that the pass
// before has written were too young to be trusted.
func (p projection) settles(budget time.Duration) bool {
	return p.young > 0 && p.downtime() > budget && p.handover()+lasts(float64(p.bytes-p.young), p.rate) < budget
}

// project returns the projection from the warm passes so far.
func (v view) project() projection {
	done := v.Attempt.Warm
	since := v.Now.Sub(began(done))
	p := projection{outage: v.Outage.WithoutCopy(), bytes: done.Bytes, rate: readRate(done), measured: done.ReadRate > 0}
	if v.changes() {
		p.trusted = min(done.Known, done.Bytes)
		p.bytes -= p.trusted
		if done.Passes < settling {
			p.young = min(done.Young, p.bytes)
		}
	}
	rate := cmp.Or(done.Rate, v.assumedRate())
	if p.delta = lasts(float64(done.Changes)*since.Seconds(), rate); done.Passes == 1 {
		// The write rate is not known yet. At most, the changes took as long to write as they take to copy.
		p.delta = min(since, lasts(float64(done.Bytes), rate))
	}
	if v.later() {
		p = p.readBack(done, rate)
	}
	p.proof = lasts(float64(p.bytes), p.rate)
	return p
}

// readBack returns the projection if only the copy is read back, and of it only the last changes and what the warm
// passes keep no digests of. The source is searched for changes before: each file that is written to is read whole there.
func (p projection) readBack(done api.CopyWarm, rate int64) projection {
	changed, searched := int64(p.delta.Seconds()*float64(rate)), min(done.Young, done.Bytes)
	p.later, p.bytes = true, min(done.Bytes-min(done.Known, done.Bytes)+changed, done.Bytes)
	p.trusted = done.Bytes - p.bytes
	if p.bytes += searched; done.Passes < settling {
		p.young = searched
	}
	return p
}

// readRate returns the read rate of the proof, in bytes a second. If it was not measured, the rate of a pass
// may be that of the network, and the disks are at least as fast.
func readRate(done api.CopyWarm) int64 { return cmp.Or(done.ReadRate, max(done.Rate, assumed)) }

// slower returns the rate of the slower side, since both are read at once. A rate that was not measured does
// not count.
func slower(a, b int64) int64 {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}

// lasts returns the duration of a number of bytes at a rate, limited to a year.
func lasts(bytes float64, rate int64) time.Duration {
	const year = 365 * 24 * time.Hour
	return time.Duration(min(bytes/float64(rate), year.Seconds()) * float64(time.Second))
}

// size formats bytes for users, in whole MiB.
func size(bytes int64) string {
	const mib = 1 << 20
	return resource.NewQuantity((bytes+mib-1)/mib*mib, resource.BinarySI).String()
}

// began returns the time from which on changes are left to the pass after this one.
func began(w api.CopyWarm) time.Time {
	if !w.Taken.IsZero() {
		return w.Taken.Time
	}
	return w.Ended.Add(-time.Duration(w.Seconds) * time.Second)
}

// measure sets the rates that follow from a warm pass. before is the earlier record; proving is the number of
// the pass's seconds in which it did not copy.
func measure(now *api.CopyWarm, before api.CopyWarm, proving int64) {
	if now.Written >= telling {
		now.Rate = max(now.Rate, now.Written/max(now.Seconds-proving, 1))
	}
	if before.Passes == 0 {
		return
	}
	now.Changes = int64(float64(now.Written) / max(began(*now).Sub(began(before)).Seconds(), 1))
}

// automatic reports whether the ordinal is stopped without the user's confirmation once its downtime fits.
func (v view) automatic() bool {
	return !v.Returns && (v.Asked.Cutover == "" || v.Asked.Cutover == api.CutoverAutomatic)
}

func (v view) budget() time.Duration { return cmp.Or(v.Asked.Budget, volumes.DefaultDowntimeBudget) }

// cutover returns why an ordinal that was copied while it ran is not to be stopped yet. It is done if it may be
// stopped.
func (v view) cutover() volumes.Verdict {
	p := v.project()
	switch {
	case !v.automatic():
		return v.word()
	case p.downtime() <= v.budget():
		return volumes.Verdict{}
	case p.helps(v.budget()), p.settles(v.budget()):
		return v.slowly(volumes.Awaits("the next warm pass of claim %s/%s has left less for the last pass. %s", v.Giver.Ref.Namespace, v.Giver.Ref.Name, p))
	}
	return blocked(volumes.ReasonCopyOverBudget,
		fmt.Sprintf("claim %s/%s: %s. copy.downtimeBudget is %s, which is %s less, and more warm passes do not help", v.Giver.Ref.Namespace, v.Giver.Ref.Name, p, v.budget(), rounded(p.downtime()-v.budget())),
		fmt.Sprintf("raise copy.downtimeBudget for claim template %[1]s in spec.volumes, for example to %[2]s: --volume %[1]s=copy,...,downtime=%[2]s; or set copy.cutover: Now there (cutover=now) to stop it despite the projection. The copy is kept warm meanwhile", v.Template, short(p.roomy())))
}

// atLook is the longest interval between checks whether the cutover time has come: the user may set another
// time.
const atLook = 30 * time.Second

// word waits for the user's confirmation, or until the time that the user has set. An ordinal that goes back
// waits for neither.
func (v view) word() volumes.Verdict {
	cutover, at := v.Asked.Cutover, v.Asked.CutoverAt
	left := at.Sub(v.Now)
	switch {
	case v.Returns, cutover != api.CutoverManual && cutover != api.CutoverAt, cutover == api.CutoverAt && !at.IsZero() && left <= 0:
		return volumes.Verdict{}
	}
	expected := "Nothing is copied while it runs: it would be down for its whole copy"
	if v.Attempt.Warm.Passes > 0 {
		expected = v.project().String()
	}
	if cutover == api.CutoverAt && !at.IsZero() {
		verdict := volumes.Awaits("it is %s, the copy.cutoverAt of claim %s/%s: its ordinal is not stopped before. %s", at.UTC().Format(time.RFC3339), v.Giver.Ref.Namespace, v.Giver.Ref.Name, expected)
		verdict.Look = min(left, atLook)
		return verdict
	}
	return blocked(volumes.ReasonCopyAwaitsWord,
		fmt.Sprintf("copy.cutover of claim %s/%s is %s without a time: its ordinal is stopped only when you set cutover Now. %s", v.Giver.Ref.Namespace, v.Giver.Ref.Name, cutover, expected), v.letGoOn())
}

// String returns a sentence for users.
func (p projection) String() string {
	how := "assumed"
	if p.measured {
		how = "measured"
	}
	text := fmt.Sprintf("It would be down for about %s: %s for pods and volumes (%s), %s for changes since the last warm pass, %s for reading %s again, at %s a second as %s",
		rounded(p.downtime()), rounded(p.handover()), p.outage, rounded(p.delta), rounded(p.proof), size(p.bytes), size(p.rate), how)
	switch {
	case p.later:
		text += fmt.Sprintf("; %s were read back by warm passes, and the volume that it leaves is read whole after its start", size(p.trusted))
	case p.trusted > 0:
		text += fmt.Sprintf("; %s are not read again, since copy.verify is Changed", size(p.trusted))
	}
	return text
}

func rounded(d time.Duration) time.Duration { return max(d, 0).Round(time.Second) }

// letGoOn returns the user's step to have the ordinal stopped anyway.
func (v view) letGoOn() string {
	return fmt.Sprintf("set copy.cutover: Now for claim template %[1]s in spec.volumes: --volume %[1]s=copy,...,cutover=now. The copy is kept warm meanwhile", v.Template)
}

// roomy returns a budget, in whole minutes, that exceeds the projection with a margin.
func (p projection) roomy() time.Duration {
	return (p.downtime()*5/4 + time.Minute - 1).Truncate(time.Minute)
}

// doubt warns, before anything was copied, that an ordinal may never be stopped automatically. If its claim
// were full, reading all of it again would exceed the downtime budget even on fast disks. Warm passes leave
// next to nothing else to the last one. The amount of data is not known at that time, so it is only a warning.
// Once a pass has ended well, the measured values decide, and cutover reports them.
func (v view) doubt() *volumes.Reason {
	p := projection{outage: v.Outage.WithoutCopy(), bytes: v.Asked.Needed, rate: fast, proof: lasts(float64(v.Asked.Needed), fast)}
	budget := v.budget()
	if v.later() || !v.automatic() || !v.warms() || v.Attempt.Warm.Passes > 0 || p.downtime() <= budget {
		return nil
	}
	return &volumes.Reason{
		Reason: volumes.ReasonCopyMayNotFit,
		Message: fmt.Sprintf("copy.downtimeBudget of claim template %s is %s, and claim %s/%s holds up to %s. Reading that again takes %s while its ordinal is down, plus %s for pods and volumes, if both disks are read at %s a second, "+
			"which is assumed until it is measured, and nothing has changed since the warm passes. The move would stall with %s, because an ordinal is not stopped if its projected downtime exceeds the budget",
			v.Template, budget, v.Giver.Ref.Namespace, v.Giver.Ref.Name, size(p.bytes), rounded(p.proof), rounded(p.handover()), size(p.rate), volumes.ReasonCopyOverBudget),
		Remedy: fmt.Sprintf("set the budget before the move, to at least %[2]s: --volume %[1]s=copy,...,downtime=%[2]s, or copy.downtimeBudget: %[2]s for claim template %[1]s in spec.volumes, and more if its disks are slower; or stop it despite the projection: cutover=now, or copy.cutover: Now. "+
			"If the claim is mostly empty, leave it: the first copy measures its bytes and the rates of the disks", v.Template, short(p.roomy())),
	}
}

// short formats whole minutes without seconds.
func short(d time.Duration) string { return strings.TrimSuffix(d.String(), "0s") }
