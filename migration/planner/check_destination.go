package planner

import (
	"fmt"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/volumes"
)

// Destination finds reasons why the destination is not free: its namespace is missing, another migration moves its
// StatefulSet, or it has a pod of an ordinal of the source (I1).
func Destination(s plan.Snapshot) []plan.Finding {
	side, set, object := s.Destination, s.Destination.Set, s.Destination.Object()
	var findings []plan.Finding
	add := func(reason, message, remedy string) {
		findings = append(findings, plan.Finding{Reason: reason, Object: object, Message: message, Remedy: remedy})
	}
	if !side.NamespaceFound && !s.Spec.CreateNamespace {
		findings = append(findings, NamespaceMissing(side))
	}
	if set.Presence == plan.Seen {
		if set.UID == s.Source.Set.UID {
			add(api.ReasonSameStatefulSet, object+" is the source itself", "name another cluster, namespace or StatefulSet as the destination")
			return findings
		}
		if set.Terminating {
			add(api.ReasonDestinationDeleted, object+" is being deleted: pods started there would be stopped again", side.WhatKeepsIt())
		}
		if owner := api.FenceOwner(set.Fence); owner != "" && owner != s.UID {
			findings = append(findings, HeldByAnother(side, s.Source))
		}
	}
	for _, pod := range side.Pods {
		if s.Source.Set.Has(pod.Ordinal) && !set.Has(pod.Ordinal) {
			add(api.ReasonDestinationPodFound, fmt.Sprintf("pod %s/%s-%d exists in cluster %s", side.Namespace, set.Name, pod.Ordinal, side.Cluster),
				side.Kubectl().Do("get", "pod", "-n", side.Namespace, fmt.Sprintf("%s-%d", set.Name, pod.Ordinal)))
			break
		}
	}
	return findings
}

// NamespaceMissing refuses a destination without its namespace.
func NamespaceMissing(side plan.Side) plan.Finding {
	return plan.Finding{
		Reason: api.ReasonNamespaceMissing, Object: side.Object(),
		Message: fmt.Sprintf("namespace %s does not exist in cluster %s", side.Namespace, side.Cluster),
		Remedy:  "create it with --create-namespace or spec.destination.createNamespace: true; or: " + side.Kubectl().Do("create", "namespace", side.Namespace),
	}
}

// Split finds problems of a destination that already owns ordinals. No remedy scales it down, because it may run the
// only pod of an ordinal.
func Split(s plan.Snapshot) []plan.Finding {
	side, set := s.Destination, s.Destination.Set
	if set.Presence != plan.Seen || set.Replicas == 0 || set.UID == s.Source.Set.UID {
		return nil
	}
	if !s.Split() {
		return []plan.Finding{{
			Reason: api.ReasonDestinationNotEmpty, Object: side.Object(),
			Message: fmt.Sprintf("%s owns ordinals %s, and the source %s: they are not side by side, so the ordinals of one may run on the other too", side.Object(), plan.Span(set.Start, set.Replicas), plan.Span(s.Source.Set.Start, s.Source.Set.Replicas)),
			Remedy:  "name another destination; if both are parts of one application, neither may own an ordinal of the other, and none between them may be missing",
		}}
	}
	findings := append(orderFindings(s), healthFindings(s, side)...)
	for _, v := range s.Volumes {
		if !set.Has(v.Ordinal) {
			continue
		}
		moved := volumes.Pair{Shared: v.Shared(s.Spec), Giver: v.Source, Taker: v.Destination}
		if problem, _ := v.Way().Check(moved, volumes.AfterArrival); problem != nil {
			findings = append(findings, plan.FindingOf(fmt.Sprintf("%s of ordinal %d", claimNamed(v.Destination), v.Ordinal), *problem))
		}
	}
	return findings
}

// orderFindings refuses an order in which the next ordinal is not adjacent to the destination's.
func orderFindings(s plan.Snapshot) []plan.Finding {
	want, next := api.HighestFirst, s.Source.Set.End()-1
	if s.Destination.Set.Start < s.Source.Set.Start {
		want, next = api.LowestFirst, s.Source.Set.Start
	}
	if s.Spec.Order == want {
		return nil
	}
	return []plan.Finding{{
		Reason: api.ReasonSplitNotAdjacent, Object: s.Destination.Object(),
		Message: fmt.Sprintf("%s owns ordinals %s: the next one that it can take is %d, the one beside them, and spec.ordinals.order is %s",
			s.Destination.Object(), plan.Span(s.Destination.Set.Start, s.Destination.Set.Replicas), next, s.Spec.Order),
		Remedy: fmt.Sprintf("create the Migration again with spec.ordinals.order %s (--order %s)", want, want),
	}}
}
