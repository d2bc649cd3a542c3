package preview

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/cmd/migrate/terminal"
	"github.com/sliceshift/sliceshift/internal/records"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/volumes"
)

// Recovery holds the facts known before a recovery, for output as text, JSON or YAML.
type Recovery struct {
	Plan
	// DestinationCluster is the UID that confirms the recovery.
	DestinationCluster string `json:"destinationCluster"`
	// Answers states the result of an attempt to reach the destination.
	Answers string `json:"answers"`
	// Running lists pods of the application that still exist at the destination.
	Running  []string  `json:"running,omitempty"`
	Ordinals []Ordinal `json:"ordinals"`
	// Lost lists data that no disk at the source has, because it was written to separate disks at the destination.
	Lost []string `json:"lost,omitempty"`
	// Unknown lists facts that cannot be determined from here.
	Unknown []string `json:"unknown"`
}

// The place of an ordinal when the destination is given up.
const (
	AtSource      = "source"
	AtDestination = "destination"
	OnItsWay      = "on its way"
)

// Ordinal is an ordinal with its disks.
type Ordinal struct {
	Ordinal int32  `json:"ordinal"`
	At      string `json:"at"`
	Disks   []Disk `json:"disks"`
}

// Disk is the state of a disk at the source.
type Disk struct {
	Template string `json:"template"`
	Claim    string `json:"claim"`
	Volume   string `json:"volume,omitempty"`
	Handle   string `json:"handle,omitempty"`
	Policy   string `json:"policy,omitempty"`
	// State is bound, parked, or a problem.
	State string `json:"state"`
	// Method is the method by which its data reached the destination.
	Method api.VolumeMethod `json:"method"`
	// Before is set for a disk that has not changed since its ordinal left. The ordinal had left it before this time,
	// when it was available at the destination.
	Before *metav1.MicroTime `json:"before,omitempty"`
}

// NewRecovery determines the state of each disk, and the steps back to the source.
func NewRecovery(m *api.Migration, s plan.Snapshot) Recovery {
	base := m.Status.Baseline
	d := Recovery{
		Plan: NewPlan(m, Underway, s), DestinationCluster: string(base.DestinationCluster),
		Ordinals: []Ordinal{}, Unknown: unknown(LostCluster(m)),
	}
	lost := map[string]api.VolumeMethod{}
	for ordinal := base.Start; ordinal < base.Start+base.Replicas; ordinal++ {
		o := Ordinal{Ordinal: ordinal, At: AtDestination, Disks: []Disk{}}
		switch handoff := m.Status.Handoff; {
		case s.Source.Set.Presence == plan.Seen && s.Source.Set.Has(ordinal):
			o.At = AtSource
		case handoff != nil && handoff.Ordinal == ordinal:
			o.At = OnItsWay
		}
		for _, v := range s.Volumes {
			if v.Ordinal != ordinal {
				continue
			}
			disk := diskAt(v.Template, v.Source)
			disk.Method = cmp.Or(v.Method, api.MethodRebind)
			if v.Separate() && o.At != AtSource && (o.At != OnItsWay || mayHaveWritten(m, s, ordinal)) {
				lost[v.Template] = disk.Method
			}
			if v.Separate() && o.At == AtDestination {
				disk.Before = leftBefore(m, ordinal)
			}
			o.Disks = append(o.Disks, disk)
		}
		d.Ordinals = append(d.Ordinals, o)
	}
	for _, template := range slices.Sorted(maps.Keys(lost)) {
		d.Lost = append(d.Lost, fmt.Sprintf("all writes to claim template %s since its ordinals left: at the destination they had other disks (method %s), and the disks here have not changed since",
			template, lost[template]))
	}
	return d
}

// mayHaveWritten reports whether an ordinal in flight may have been started at the destination. On its way there it is
// started only after all of its volumes at the source are parked.
func mayHaveWritten(m *api.Migration, s plan.Snapshot, ordinal int32) bool {
	fence := m.Status.Fence
	return fence != nil && fence.Direction == api.Back || !slices.ContainsFunc(s.Volumes, func(v plan.OrdinalVolume) bool {
		return v.Ordinal == ordinal && v.Separate() && v.Source.Volume.Found && !v.Source.Parked()
	})
}

// leftBefore returns when an ordinal last became available at the destination, or nil if that is no longer known.
func leftBefore(m *api.Migration, ordinal int32) *metav1.MicroTime {
	if m.Status.History == nil {
		return nil
	}
	for _, past := range slices.Backward(m.Status.History.Handoffs) {
		if past.Ordinal == ordinal && past.Direction == api.Forward && past.Outcome != api.HandoffTurnedBack {
			return &past.EndTime
		}
	}
	return nil
}

func diskAt(template string, h volumes.Holding) Disk {
	disk := Disk{Template: template, Claim: h.Ref.Name, Volume: cmp.Or(h.Volume.Name, h.Claim.Volume), Handle: h.Volume.Handle, Policy: string(h.Volume.Policy)}
	switch {
	case !h.Volume.Found:
		disk.State = "NO RECORD: the volume does not exist at the source"
	case h.Bound():
		disk.State = "bound"
	case h.Parked():
		disk.State = "parked"
	default:
		disk.State = fmt.Sprintf("claimed by %s/%s", h.Volume.ClaimRef.Namespace, h.Volume.ClaimRef.Name)
	}
	if !h.Claim.Found {
		disk.State += ", claim missing"
	}
	return disk
}

// unknown returns facts that no program can determine.
func unknown(cluster string) []string {
	return []string{
		fmt.Sprintf("whether cluster %s is really off. A cluster that does not answer may still run its pods and write to the disks; an ordinal that is started here as well runs twice, on one disk, and destroys it", cluster),
		"the content of the disks. A disk that the two sides share has the writes of the destination, except those that its machine had not flushed, as after a power cut; where the storage is replicated between two sites, the disk here has the last replicated state",
		"whether machines there restart automatically. They would start the same pods again: keep them off, or off the storage, for good",
	}
}

// UnknownAfterEnd returns the fact about a completed move that no program can determine.
func UnknownAfterEnd(cluster string) string {
	return fmt.Sprintf("whether an ordinal was moved on from cluster %s since the move was completed, by a deleted Migration, by one of a cluster that was not asked, or by hand. It then runs elsewhere, on the disks that are parked here", cluster)
}

// LostCluster returns the name of the destination's cluster.
func LostCluster(m *api.Migration) string {
	if name := m.Annotations[records.DestinationNameAnnotationKey]; name != "" {
		return name
	}
	if ref := m.Spec.Destination.KubeConfigSecretRef; ref != nil {
		return ref.Name
	}
	return "local"
}

// Recovery prints a recovery.
func (p Printer) Recovery(d Recovery) error {
	return p.buffered(func(p Printer) { p.recovery(d) })
}

func (p Printer) recovery(d Recovery) {
	fmt.Fprintf(p.Out, "%s\n\n", p.Paint.Bold(fmt.Sprintf("Recover StatefulSet %s to %s, without %s", d.Source.StatefulSet, d.Source, d.Destination)))
	t := terminal.Table{Head: []string{"ORDINAL", "WAS AT", "TEMPLATE", "VOLUME HERE", "POLICY", "STATE", "HANDLE"}}
	const widest = 64
	for _, o := range d.Ordinals {
		ordinal := strconv.Itoa(int(o.Ordinal))
		if len(o.Disks) == 0 {
			t.Add(nil, ordinal, o.At, "-", "-", "-", "no volumes", "-")
		}
		for _, disk := range o.Disks {
			handle := disk.Handle
			if !p.Wide {
				handle = terminal.Clip(handle, widest)
			}
			t.Add(nil, ordinal, o.At, disk.Template, disk.Volume, disk.Policy, disk.condition(), handle)
		}
	}
	_ = t.Write(p.Out, p.Paint) // Flush returns its error
	fmt.Fprintf(p.Out, "\nCluster %s (UID %s) %s.\n\n", d.Destination.Cluster, d.DestinationCluster, d.Answers)
	p.list(p.Paint.Red("Lost with it, whatever is done here:"), d.Lost)
	p.list(p.Paint.Yellow("Unknown, and impossible to find out from here:"), d.Unknown)
	if len(d.Steps) > 0 && !p.Wide {
		p.facts(d.Plan)
	}
	p.steps(d.Plan)
}

func (p Printer) list(head string, texts []string) {
	if len(texts) == 0 {
		return
	}
	fmt.Fprintln(p.Out, head)
	for _, text := range texts {
		const width = 100
		fmt.Fprintf(p.Out, "  - %s\n", strings.Join(terminal.Wrap(text, width), "\n    "))
	}
	fmt.Fprintln(p.Out)
}

// condition returns the state of a disk and the age of its data.
func (d Disk) condition() string {
	if d.Before == nil {
		return d.State
	}
	return d.State + ", as of before " + d.Before.UTC().Format(time.RFC3339)
}
