package plan

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/volumes"
)

// Finding is something that the preflight found.
type Finding struct {
	// Check is the name of the check that found it.
	Check string `json:"check,omitempty"`
	// Reason is stable.
	Reason string `json:"reason"`
	// Object names the object and its cluster.
	Object string `json:"object"`
	// Message says what was found and why it is unsafe.
	Message string `json:"message"`
	// Remedy is what mends it, a command where there is one.
	Remedy string `json:"remedy,omitempty"`
	// Warning is true when the migration may begin all the same.
	Warning bool `json:"warning,omitempty"`
}

// Names of what Preflight looks at in a snapshot.
const (
	CheckOrdinals    = "numbers of ordinals"
	CheckSource      = "source"
	CheckBudget      = "disruption budget"
	CheckForm        = "form of the budget"
	CheckDestination = "destination"
	CheckSplit       = "slices"
	CheckVolumes     = "claims"
	CheckServices    = "services of ordinals"
	CheckCopies      = "copies of dependencies"
	CheckSchedule    = "schedule"
	CheckWriters     = "paused writers"
)

func (s Side) object() string {
	return fmt.Sprintf("StatefulSet %s/%s in cluster %s", s.Namespace, s.Set.Name, s.Cluster)
}

// accept lets a migration begin: it checks everything that can be checked before
// the first write, and records the baseline. Nothing has been changed when it
// refuses.
func (p planner) accept() *Decision {
	if p.Record.Baseline != nil {
		return nil
	}
	findings := Preflight(p.Snapshot)
	for _, finding := range findings {
		if !finding.Warning {
			return &Decision{Findings: findings, Hold: &Hold{Reason: finding.Reason, Message: finding.Message, Remedy: finding.Remedy, Stalled: true}}
		}
	}
	if p.Spec.Mode != api.ModeRun {
		return &Decision{Findings: findings, Hold: &Hold{Reason: api.ReasonPaused, Message: "nothing has been changed: mode is " + string(p.Spec.Mode)}}
	}
	if p.Queued != nil {
		return &Decision{Findings: findings, Hold: p.Queued}
	}
	d, _ := budget(p.Snapshot)
	start, replicas := p.Extent()
	baseline := &api.Baseline{
		Start: start, Replicas: replicas, DestinationReplicas: replicas - p.Source.Set.Replicas,
		Budget: d, SourceUID: p.Source.Set.UID, StartTime: metav1.NewTime(p.Now),
		SourceCluster: p.Source.ClusterID, DestinationCluster: p.Destination.ClusterID,
	}
	if baseline.DestinationReplicas > 0 {
		baseline.DestinationUID = p.Destination.Set.UID
	}
	if len(p.Source.Budgets) == 1 {
		b := p.Source.Budgets[0]
		author := b.AuthorForm()
		baseline.DisruptionBudget = &api.DisruptionBudget{Name: b.Name, MinAvailable: author.MinAvailable, MaxUnavailable: author.MaxUnavailable}
	}
	next := p.Record
	next.Baseline, next.Accepted, next.Handoff = baseline, true, nil
	return &Decision{Findings: findings, Record: &next}
}

// Preflight returns all that stands in the way of a migration that has not begun,
// and what its user should know.
func Preflight(s Snapshot) []Finding {
	var findings []Finding
	for _, finding := range s.Preflight {
		if !finding.Warning {
			findings = append(findings, finding)
		}
	}
	if s.Source.Reach != Seen || s.Destination.Reach != Seen {
		return findings
	}
	if finding := s.Unbounded(); finding != nil {
		return append(findings, OfCheck(CheckOrdinals, *finding)...)
	}
	if s.Source.Set.Presence != Seen {
		return append(findings, Finding{
			Check: CheckSource, Reason: api.ReasonSourceMissing, Object: s.Source.object(),
			Message: s.Source.object() + " does not exist",
			Remedy:  fmt.Sprintf("kubectl get %s -n %s", s.Source.Set.resource(), s.Source.Namespace),
		})
	}
	for _, look := range []struct {
		check string
		at    func(Snapshot) []Finding
	}{
		{CheckSchedule, scheduleFindings},
		{CheckSource, sourceFindings},
		{CheckBudget, budgetFindings},
		{CheckForm, formFindings},
		{CheckDestination, destinationFindings},
		{CheckSplit, splitFindings},
		{CheckVolumes, volumeFindings},
		{CheckServices, nameFindings},
		{CheckCopies, dependencyFindings},
		{CheckWriters, writerFindings},
	} {
		findings = append(findings, OfCheck(look.check, look.at(s)...)...)
	}
	for _, finding := range s.Preflight {
		if finding.Warning {
			findings = append(findings, finding)
		}
	}
	return findings
}

// OfCheck says of findings which check has made them.
func OfCheck(name string, findings ...Finding) []Finding {
	for i := range findings {
		findings[i].Check = name
	}
	return findings
}

func sourceFindings(s Snapshot) []Finding {
	var findings []Finding
	side, set, object := s.Source, s.Source.Set, s.Source.object()
	add := func(reason, message, remedy string) {
		findings = append(findings, Finding{Reason: reason, Object: object, Message: message, Remedy: remedy})
	}
	if set.Terminating {
		add(api.ReasonSourceBeingDeleted, object+" is being deleted: its pods may all go at any moment", side.whatKeepsIt())
	}
	if set.Replicas == 0 {
		add(api.ReasonNothingToMove, object+" has no replicas", fmt.Sprintf("kubectl scale %s -n %s %s --replicas=1", set.resource(), side.Namespace, set.Name))
	}
	if s.Spec.Count > set.Replicas {
		add(api.ReasonCountTooLarge, fmt.Sprintf("%s has %d replicas; %d were asked to move", object, set.Replicas, s.Spec.Count), "create the Migration again with a smaller count, or without one to move all")
	}
	if owner := api.FenceOwner(set.Fence); owner != "" && owner != s.UID {
		findings = append(findings, heldFinding(side))
	}
	if finding := side.deletesClaims(); finding != nil {
		findings = append(findings, *finding)
	}
	return append(findings, healthFindings(s, side)...)
}

// healthFindings are about a slice that must be at rest and available when a migration begins.
func healthFindings(s Snapshot, side Side) []Finding {
	var findings []Finding
	set, object := side.Set, side.object()
	add := func(reason, message, remedy string) {
		findings = append(findings, Finding{Reason: reason, Object: object, Message: message, Remedy: remedy})
	}
	switch {
	case !set.Observed:
		add(api.ReasonRolloutInProgress, object+" has a change that its controller has not observed yet", "wait for it, or look why kube-controller-manager is not running")
	case !set.RolledOut:
		add(api.ReasonRolloutInProgress, object+" is in the middle of a roll-out: which revision an ordinal gets would change as the slice moves",
			set.rolloutStatus(side.Namespace))
	}
	if names := unavailable(s, side); len(names) > 0 {
		add(api.ReasonSourceNotHealthy, fmt.Sprintf("%s has replicas that are not available: %s; moving another one would take the application below its budget", object, Listed(names)),
			"kubectl get pods -n "+side.Namespace)
	}
	return findings
}

// deletesClaims refuses a slice whose scale-downs delete claims.
func (s Side) deletesClaims() *Finding {
	if !s.Set.DeletesClaims {
		return nil
	}
	return &Finding{
		Reason: api.ReasonClaimsDeletedOnScale, Object: s.object(),
		Message: s.object() + " has persistentVolumeClaimRetentionPolicy.whenScaled: Delete: each scale-down of a handoff would delete the ordinal's claim and its data",
		Remedy: fmt.Sprintf(`kubectl patch %s -n %s %s --type=merge -p '{"spec":{"persistentVolumeClaimRetentionPolicy":{"whenScaled":"Retain"}}}'`,
			s.Set.resource(), s.Namespace, s.Set.Name),
	}
}

// Hold waits for somebody to mend what was found.
func (f Finding) Hold() *Hold {
	return &Hold{Reason: f.Reason, Message: f.Message, Remedy: f.Remedy, Stalled: true}
}

func destinationFindings(s Snapshot) []Finding {
	side, set, object := s.Destination, s.Destination.Set, s.Destination.object()
	var findings []Finding
	add := func(reason, message, remedy string) {
		findings = append(findings, Finding{Reason: reason, Object: object, Message: message, Remedy: remedy})
	}
	if !side.NamespaceFound && !s.Spec.CreateNamespace {
		findings = append(findings, namespaceMissing(side))
	}
	if set.Presence == Seen {
		if set.UID == s.Source.Set.UID {
			add(api.ReasonSameStatefulSet, object+" is the source itself", "name another cluster, namespace or StatefulSet as the destination")
			return findings
		}
		if set.Terminating {
			add(api.ReasonDestinationDeleted, object+" is being deleted: what is started there would be stopped again", side.whatKeepsIt())
		}
		if owner := api.FenceOwner(set.Fence); owner != "" && owner != s.UID {
			findings = append(findings, heldFinding(side))
		}
	}
	for _, pod := range side.Pods {
		if s.Source.Set.Has(pod.Ordinal) && !set.Has(pod.Ordinal) {
			add(api.ReasonDestinationPodFound, fmt.Sprintf("pod %s/%s-%d exists in cluster %s", side.Namespace, set.Name, pod.Ordinal, side.Cluster),
				fmt.Sprintf("kubectl get pod -n %s %s-%d", side.Namespace, set.Name, pod.Ordinal))
			break
		}
	}
	return findings
}

func namespaceMissing(side Side) Finding {
	return Finding{
		Reason: api.ReasonNamespaceMissing, Object: side.object(),
		Message: fmt.Sprintf("namespace %s does not exist in cluster %s", side.Namespace, side.Cluster),
		Remedy:  "in that cluster: kubectl create namespace " + side.Namespace,
	}
}

// splitFindings are about a destination that owns ordinals already. Nobody is told to scale
// it down: what runs there may be the only one of its ordinal.
func splitFindings(s Snapshot) []Finding {
	side, set := s.Destination, s.Destination.Set
	if set.Presence != Seen || set.Replicas == 0 || set.UID == s.Source.Set.UID {
		return nil
	}
	if !s.Split() {
		return []Finding{{
			Reason: api.ReasonDestinationNotEmpty, Object: side.object(),
			Message: fmt.Sprintf("%s owns ordinals %s, and the source %s: they are not side by side, so the ordinals of one may run on the other too", side.object(), Span(set.Start, set.Replicas), Span(s.Source.Set.Start, s.Source.Set.Replicas)),
			Remedy:  "name another destination; if both are parts of one application, neither may own an ordinal of the other, and none between them may be missing",
		}}
	}
	findings := append(orderFindings(s), healthFindings(s, side)...)
	for _, v := range s.Volumes {
		if !set.Has(v.Ordinal) {
			continue
		}
		if problem := v.method().Carried(volumes.Taken{Shared: v.shared(s.Spec), From: v.Source, At: v.Destination}); problem != nil {
			findings = append(findings, Finding{
				Reason: problem.Reason, Object: fmt.Sprintf("claim %s/%s of ordinal %d", v.Destination.Ref.Namespace, v.Destination.Ref.Name, v.Ordinal),
				Message: problem.Message, Remedy: problem.Remedy,
			})
		}
	}
	return findings
}

// orderFindings refuse an order in which the next ordinal would not be the one beside the
// destination's.
func orderFindings(s Snapshot) []Finding {
	want, next := api.HighestFirst, s.Source.Set.End()-1
	if s.Destination.Set.Start < s.Source.Set.Start {
		want, next = api.LowestFirst, s.Source.Set.Start
	}
	if s.Spec.Order == want {
		return nil
	}
	return []Finding{{
		Reason: api.ReasonSplitNotAdjacent, Object: s.Destination.object(),
		Message: fmt.Sprintf("%s owns ordinals %s: the next one that it can take is %d, the one beside them, and spec.ordinals.order is %s",
			s.Destination.object(), Span(s.Destination.Set.Start, s.Destination.Set.Replicas), next, s.Spec.Order),
		Remedy: fmt.Sprintf("create the Migration again with spec.ordinals.order %s (--order %s)", want, want),
	}}
}

func volumeFindings(s Snapshot) []Finding {
	var findings []Finding
	total := Total(s.Spec, s.Source.Set.Replicas)
	for _, v := range s.Volumes {
		if !toMove(s, v.Ordinal, total) {
			continue
		}
		problem := v.method().Check(volumes.Pair{Shared: v.shared(s.Spec), Owner: s.UID, Giver: v.Source, Taker: v.Destination, Template: v.Template, Word: v.Word, Copy: v.Copy})
		if problem != nil {
			findings = append(findings, Finding{
				Reason:  problem.Reason,
				Object:  fmt.Sprintf("claim %s/%s of ordinal %d", v.Source.Ref.Namespace, v.Source.Ref.Name, v.Ordinal),
				Message: fmt.Sprintf("source cluster %s, destination cluster %s: %s", s.Source.Cluster, s.Destination.Cluster, problem.Message),
				Remedy:  problem.Remedy,
			})
		}
	}
	return append(findings, methodWarnings(s)...)
}

// methodWarnings say what the methods mean by which claim templates move.
func methodWarnings(s Snapshot) []Finding {
	var findings []Finding
	for _, v := range s.Volumes {
		warner, warns := v.method().(volumes.Warner)
		object := "claim template " + v.Template
		if !warns || slices.ContainsFunc(findings, func(f Finding) bool { return f.Object == object }) {
			continue
		}
		problem := warner.Warn(v.Template)
		findings = append(findings, Finding{Reason: problem.Reason, Object: object, Message: problem.Message, Remedy: problem.Remedy, Warning: true})
	}
	return findings
}

func toMove(s Snapshot, ordinal, total int32) bool {
	set := s.Source.Set
	if s.Spec.Order == api.LowestFirst {
		return set.Start <= ordinal && ordinal < set.Start+total
	}
	return set.End()-total <= ordinal && ordinal < set.End()
}

// OrdinalsToMove are those that are asked for of a migration that has not begun, the first to move first.
func (s Snapshot) OrdinalsToMove() []int32 {
	if s.Unbounded() != nil {
		return nil
	}
	total := Total(s.Spec, s.Source.Set.Replicas)
	var ordinals []int32
	for ordinal := s.Source.Set.Start; ordinal < s.Source.Set.End(); ordinal++ {
		if toMove(s, ordinal, total) {
			ordinals = append(ordinals, ordinal)
		}
	}
	if s.Spec.Order != api.LowestFirst {
		slices.Reverse(ordinals)
	}
	return ordinals
}
