package plan

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/pdb"
)

// budget returns d, or why there is none.
func budget(s Snapshot) (int32, *Finding) {
	_, replicas := s.Extent()
	d := int32(1)
	source := Finding{Object: s.Source.object()}
	if len(s.Source.Budgets) == 1 {
		b := s.Source.Budgets[0]
		name := s.Source.budgetNamed(b.Name)
		source.Object = name
		allowed, err := pdb.Budget(b.AuthorForm(), replicas)
		if err != nil {
			source.Reason, source.Message, source.Remedy = api.ReasonBudgetInvalid, name+": "+err.Error(), "kubectl edit pdb -n "+s.Source.Namespace+" "+b.Name
			return 0, &source
		}
		if allowed == 0 {
			source.Reason = api.ReasonBudgetZero
			source.Message = fmt.Sprintf("%s lets none of %d replicas be unavailable: no ordinal can ever be moved under it", name, replicas)
			source.Remedy = fmt.Sprintf(`kubectl patch pdb -n %s %s --type=merge -p '{"spec":{"minAvailable":null,"maxUnavailable":1}}'`, s.Source.Namespace, b.Name)
			return 0, &source
		}
		d = allowed
	}
	if s.Spec.MaxUnavailable == nil {
		return d, nil
	}
	asked, err := pdb.Budget(pdb.Form{MaxUnavailable: s.Spec.MaxUnavailable}, replicas)
	switch {
	case err != nil:
		source.Reason, source.Message = api.ReasonBudgetInvalid, "spec."+err.Error()
		return 0, &source
	case asked == 0:
		source.Reason, source.Message, source.Remedy = api.ReasonBudgetZero, "spec.maxUnavailable lets no replica be unavailable", "set it to 1 or more"
		return 0, &source
	case len(s.Source.Budgets) == 1 && asked > d:
		source.Reason = api.ReasonBudgetExceeded
		source.Message = fmt.Sprintf("spec.maxUnavailable asks for %d and %s allows %d", asked, source.Object, d)
		source.Remedy = "lower spec.maxUnavailable, or change the PodDisruptionBudget first"
		return 0, &source
	}
	return asked, nil
}

func budgetFindings(s Snapshot) []Finding {
	for _, side := range []Side{s.Source, s.Destination} {
		if len(side.Budgets) > 1 {
			return []Finding{severalFinding(side)}
		}
	}
	for _, side := range []Side{s.Source, s.Destination} {
		if finding := cmp.Or(side.coversOthers(), side.leavesOut()); finding != nil {
			return []Finding{*finding}
		}
	}
	if _, finding := budget(s); finding != nil {
		return []Finding{*finding}
	}
	return foreignBudgetFindings(s)
}

// budgetNamed is how messages call a PodDisruptionBudget of the side.
func (s Side) budgetNamed(name string) string {
	return fmt.Sprintf("PodDisruptionBudget %s/%s in cluster %s", s.Namespace, name, s.Cluster)
}

// formFindings are about how budgets are written, where both sides say how many pods may be down.
func formFindings(s Snapshot) []Finding {
	if len(s.Source.Budgets) != 1 {
		return nil
	}
	source := s.Source.Budgets[0]
	name := fmt.Sprintf("PodDisruptionBudget %s/%s in cluster %s", s.Source.Namespace, source.Name, s.Source.Cluster)
	var findings []Finding
	warn := func(reason, message, remedy string) {
		findings = append(findings, Finding{Reason: reason, Object: name, Message: message, Remedy: remedy, Warning: true})
	}
	_, replicas := s.Extent()
	form := source.AuthorForm()
	if share := form.MaxUnavailable; share != nil && share.Type == intstr.String {
		allowed, err := pdb.Budget(form, replicas)
		least, errLeast := intstr.GetScaledValueFromIntOrPercent(share, int(replicas), false)
		if err == nil && errLeast == nil && int(allowed) > least {
			warn(api.ReasonBudgetForm, fmt.Sprintf("%s says maxUnavailable %s of %d replicas, which Kubernetes rounds up: %d may be down, and the move keeps to that number", name, share.StrVal, replicas, allowed),
				"where that is too many, say it as a number: --max-unavailable, spec.maxUnavailable of the Migration")
		}
	}
	if len(s.Destination.Budgets) == 1 && !s.Spec.SameNamespace {
		here, there := evictionPolicy(source), evictionPolicy(s.Destination.Budgets[0])
		if here != there {
			warn(api.ReasonBudgetForm, fmt.Sprintf("%s has unhealthyPodEvictionPolicy %s, and the one of the destination %s: a drain would treat a pod that is not Ready otherwise on each side", name, here, there),
				fmt.Sprintf(`give both the same, in cluster %s: kubectl patch pdb -n %s %s --type=merge -p '{"spec":{"unhealthyPodEvictionPolicy":"%s"}}'`, s.Destination.Cluster, s.Destination.Namespace, s.Destination.Budgets[0].Name, here))
		}
	}
	return findings
}

func evictionPolicy(b Budget) string {
	return cmp.Or(b.Unhealthy, string(policyv1.IfHealthyBudget))
}

// coversOthers refuses a budget that other pods draw from as well: what it says of the
// slice would be said of them too, and shrinking one would widen the other.
func (s Side) coversOthers() *Finding {
	if len(s.Budgets) != 1 || s.Budgets[0].Covers == "" {
		return nil
	}
	name := s.budgetNamed(s.Budgets[0].Name)
	return &Finding{
		Reason: api.ReasonBudgetCoversOthers, Object: name,
		Message: fmt.Sprintf("%s also selects pods of others, such as %s: it cannot be shared out between two slices without changing what it allows for those", name, s.Budgets[0].Covers),
		Remedy:  fmt.Sprintf("give %s a PodDisruptionBudget of its own, and the others theirs: kubectl edit pdb -n %s %s", s.object(), s.Namespace, s.Budgets[0].Name),
	}
}

// foreignBudgetFindings are about a PodDisruptionBudget that the destination has
// already: the split of the source's goes over both, and in the end both get the
// source's form back.
func foreignBudgetFindings(s Snapshot) []Finding {
	source, destination := s.Source.Budgets, s.Destination.Budgets
	add := func(message, remedy string) []Finding {
		return []Finding{{Reason: api.ReasonForeignBudget, Object: s.Destination.object(), Message: message, Remedy: remedy}}
	}
	name := ""
	if len(destination) == 1 {
		name = s.Destination.budgetNamed(destination[0].Name)
	}
	switch {
	case s.Spec.SameNamespace:
		return notInCommon(source, destination, add)
	case len(destination) == 0 && len(source) == 1 && slices.Contains(s.Destination.OtherBudgets, source[0].Name):
		return add(takenBudget(s.Destination, source[0].Name))
	case len(destination) == 0:
		return nil
	case len(source) == 0:
		return add(name+" selects the pods and the source has none to share it with", "create the same PodDisruptionBudget at the source, or delete this one")
	case !destination[0].AuthorForm().Equal(source[0].AuthorForm()) && destination[0].Fence == "":
		return add(fmt.Sprintf("%s says %s and the source's says %s: it would get the source's form in the end", name, destination[0].AuthorForm(), source[0].AuthorForm()),
			"give both the same form, or delete this one")
	}
	return nil
}

// notInCommon is about a PodDisruptionBudget that selects the pods of only one of two StatefulSets
// of a namespace.
func notInCommon(source, destination []Budget, add func(message, remedy string) []Finding) []Finding {
	all := slices.Concat(source, destination)
	if len(all) == 0 || len(source) == len(destination) && destination[0].UID == source[0].UID {
		return nil
	}
	return add(fmt.Sprintf("PodDisruptionBudget %s does not select the pods of both StatefulSets: their replicas would have no budget in common", all[0].Name),
		"let its selector match the labels of both pod templates")
}

// takenBudget is for a PodDisruptionBudget that bears the name of the one to be made, and
// does not select the slice's pods.
func takenBudget(side Side, name string) (message, remedy string) {
	return fmt.Sprintf("%s does not select the pods of %s, and the one that is to share its budget needs its name", side.budgetNamed(name), side.Set.Name),
		fmt.Sprintf("let it select them, or delete it: kubectl delete pdb -n %s %s", side.Namespace, name)
}

func severalFinding(side Side) Finding {
	names := make([]string, 0, len(side.Budgets))
	for _, b := range side.Budgets {
		names = append(names, b.Name)
	}
	return Finding{
		Reason: api.ReasonSeveralBudgets, Object: side.object(),
		Message: fmt.Sprintf("several PodDisruptionBudgets select the pods of %s: %s; every eviction fails under two, and none can be shared out", side.object(), Listed(names)),
		Remedy:  fmt.Sprintf("leave one: kubectl delete pdb -n %s %s", side.Namespace, names[len(names)-1]),
	}
}

func severalBudgets(side Side) *Decision {
	finding := severalFinding(side)
	return Stalled(finding.Reason, finding.Message, finding.Remedy)
}

// leavesOut refuses a budget that selects some pods of the slice and not all: how many of the
// slice may be unavailable does not follow from it, so it cannot be shared out.
func (s Side) leavesOut() *Finding {
	if len(s.Budgets) != 1 || s.Budgets[0].LeavesOut == "" {
		return nil
	}
	name := s.budgetNamed(s.Budgets[0].Name)
	return &Finding{
		Reason: api.ReasonBudgetLeavesOut, Object: name,
		Message: fmt.Sprintf("%s selects pods of %s, but not %s: what it allows for some of them cannot be shared out between two slices", name, s.object(), s.Budgets[0].LeavesOut),
		Remedy:  fmt.Sprintf("let it select the labels of the pod template, which all of the pods have, or delete it: kubectl edit pdb -n %s %s", s.Namespace, s.Budgets[0].Name),
	}
}

// Available counts the available replicas of a side.
func Available(now time.Time, side Side) int32 {
	var n int32
	start, end := side.Set.Start, side.Set.End()
	for i := range side.Pods {
		pod := &side.Pods[i]
		if start <= pod.Ordinal && pod.Ordinal < end && pod.Available(now, side.Set.MinReady) {
			n++
		}
	}
	return n
}

// Allowed is how many of the slice's replicas its PodDisruptionBudget lets be
// unavailable; nil without one, and as long as it has its author's form.
func Allowed(s Snapshot, side Side) *int32 {
	if len(side.Budgets) != 1 || side.Budgets[0].Fence == "" {
		return nil
	}
	replicas := side.Set.Replicas
	if s.Spec.SameNamespace {
		replicas = s.Source.Set.Replicas + s.Destination.Set.Replicas
	}
	allows, err := pdb.Budget(side.Budgets[0].Form, replicas)
	if err != nil {
		return nil
	}
	return &allows
}
