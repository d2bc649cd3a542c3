package planner

import (
	"cmp"
	"fmt"
	"slices"

	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/pdb"
)

// Budgets finds reasons why the PodDisruptionBudgets cannot be split between the two slices (I4).
func Budgets(s plan.Snapshot) []plan.Finding {
	for _, side := range []plan.Side{s.Source, s.Destination} {
		if len(side.Budgets) > 1 {
			return []plan.Finding{SeveralBudgets(side)}
		}
	}
	for _, side := range []plan.Side{s.Source, s.Destination} {
		if finding := cmp.Or(CoversOthers(side), LeavesOut(side)); finding != nil {
			return []plan.Finding{*finding}
		}
	}
	if s.Source.Set.Replicas == 0 && s.Destination.Set.Replicas == 0 {
		return nil // the finding about the source covers it
	}
	if _, finding := Allowance(s); finding != nil {
		return []plan.Finding{*finding}
	}
	return foreignBudgetFindings(s)
}

// Allowance returns how many replicas of the application may be unavailable (d), or why none may.
func Allowance(s plan.Snapshot) (int32, *plan.Finding) {
	_, replicas := s.Extent()
	d := int32(1)
	source := plan.Finding{Object: s.Source.Object()}
	if len(s.Source.Budgets) == 1 {
		b := s.Source.Budgets[0]
		name := s.Source.BudgetNamed(b.Name)
		source.Object = name
		allowed, err := pdb.Budget(b.AuthorForm(), replicas)
		if err != nil {
			source.Reason, source.Message, source.Remedy = api.ReasonBudgetInvalid, name+": "+err.Error(), s.Source.Kubectl().Do("edit", "pdb", "-n", s.Source.Namespace, b.Name)
			return 0, &source
		}
		if allowed == 0 {
			source.Reason = api.ReasonBudgetZero
			source.Message = fmt.Sprintf("%s allows 0 of %d replicas to be unavailable: no ordinal can be moved", name, replicas)
			source.Remedy = s.Source.Kubectl().Do("patch", "pdb", "-n", s.Source.Namespace, b.Name, "--type=merge", "-p", `{"spec":{"minAvailable":null,"maxUnavailable":1}}`)
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

// CoversOthers refuses a budget that also selects other pods. A share of it would apply to them too, and a smaller
// share on one side would widen the other.
func CoversOthers(s plan.Side) *plan.Finding {
	if len(s.Budgets) != 1 || s.Budgets[0].Covers == "" {
		return nil
	}
	name := s.BudgetNamed(s.Budgets[0].Name)
	return &plan.Finding{
		Reason: api.ReasonBudgetCoversOthers, Object: name,
		Message: fmt.Sprintf("%s also selects other pods, such as %s: splitting it between two slices would change the disruptions allowed for those pods", name, s.Budgets[0].Covers),
		Remedy:  fmt.Sprintf("create one PodDisruptionBudget for %s and another for the other pods: %s", s.Object(), s.Kubectl().Do("edit", "pdb", "-n", s.Namespace, s.Budgets[0].Name)),
	}
}

// LeavesOut refuses a budget that selects only some pods of the slice. It does not define how many of the slice may
// be unavailable, so it cannot be split.
func LeavesOut(s plan.Side) *plan.Finding {
	if len(s.Budgets) != 1 || s.Budgets[0].LeavesOut == "" {
		return nil
	}
	name := s.BudgetNamed(s.Budgets[0].Name)
	return &plan.Finding{
		Reason: api.ReasonBudgetLeavesOut, Object: name,
		Message: fmt.Sprintf("%s selects pods of %s, but not %s: a budget of only some pods cannot be split between two slices", name, s.Object(), s.Budgets[0].LeavesOut),
		Remedy:  "make it select labels of the pod template, which all pods have: " + s.Kubectl().Do("edit", "pdb", "-n", s.Namespace, s.Budgets[0].Name),
	}
}

// SeveralBudgets refuses more than one PodDisruptionBudget over the pods of a slice.
func SeveralBudgets(side plan.Side) plan.Finding {
	names := make([]string, 0, len(side.Budgets))
	for _, b := range side.Budgets {
		names = append(names, b.Name)
	}
	return plan.Finding{
		Reason: api.ReasonSeveralBudgets, Object: side.Object(),
		Message: fmt.Sprintf("several PodDisruptionBudgets select the pods of %s: %s; every eviction fails under two, and none can be shared out", side.Object(), plan.Listed(names)),
		Remedy:  "leave one, and keep the manifest of the other: " + side.Kubectl().Remove("pdb", side.Namespace, names[len(names)-1]),
	}
}

// foreignBudgetFindings checks a PodDisruptionBudget that the destination already has. The source's budget is split
// over both, and at the end both get the source's form.
func foreignBudgetFindings(s plan.Snapshot) []plan.Finding {
	source, destination := s.Source.Budgets, s.Destination.Budgets
	add := func(message, remedy string) []plan.Finding {
		return []plan.Finding{{Reason: api.ReasonForeignBudget, Object: s.Destination.Object(), Message: message, Remedy: remedy}}
	}
	name := ""
	if len(destination) == 1 {
		name = s.Destination.BudgetNamed(destination[0].Name)
	}
	switch {
	case s.Spec.SameNamespace:
		return notInCommon(s.Source, source, destination, add)
	case len(destination) == 0 && len(source) == 1 && slices.Contains(s.Destination.OtherBudgets, source[0].Name):
		return add(BudgetTaken(s.Destination, source[0].Name))
	case len(destination) == 0:
		return nil
	case len(source) == 0:
		return add(name+" selects the pods, and the source has no PodDisruptionBudget to share it with", "create the same PodDisruptionBudget at the source, or keep the manifest of this one and delete it")
	case !destination[0].AuthorForm().Equal(source[0].AuthorForm()) && destination[0].Fence == "":
		return add(fmt.Sprintf("%s says %s and the source's says %s: it would get the source's form in the end", name, destination[0].AuthorForm(), source[0].AuthorForm()),
			"give both the same form")
	}
	return nil
}

// notInCommon checks a PodDisruptionBudget that selects the pods of only one of two StatefulSets in a namespace.
func notInCommon(side plan.Side, source, destination []plan.Budget, add func(message, remedy string) []plan.Finding) []plan.Finding {
	all := slices.Concat(source, destination)
	if len(all) == 0 || len(source) == len(destination) && destination[0].UID == source[0].UID {
		return nil
	}
	return add(side.BudgetNamed(all[0].Name)+" does not select the pods of source and destination: their replicas would have no common budget",
		"make its selector match the labels of the pod template on each side")
}

// BudgetTaken describes a PodDisruptionBudget that has the name of the one to create, and does not select the slice's
// pods.
func BudgetTaken(side plan.Side, name string) (message, remedy string) {
	return fmt.Sprintf("%s does not select the pods of %s, but has the name of the PodDisruptionBudget to create", side.BudgetNamed(name), side.Set.Name),
		"if it is of the same application, make it select them: " + side.Kubectl().Do("edit", "pdb", "-n", side.Namespace, name) + "; else create it under another name, and keep its manifest: " + side.Kubectl().Remove("pdb", side.Namespace, name)
}

// Forms warns of a percentage that is rounded up, and of different eviction policies on the two sides.
func Forms(s plan.Snapshot) []plan.Finding {
	if len(s.Source.Budgets) != 1 {
		return nil
	}
	source := s.Source.Budgets[0]
	name := s.Source.BudgetNamed(source.Name)
	var findings []plan.Finding
	warn := func(reason, message, remedy string) {
		findings = append(findings, plan.Finding{Reason: reason, Object: name, Message: message, Remedy: remedy, Warning: true})
	}
	_, replicas := s.Extent()
	form := source.AuthorForm()
	if share := form.MaxUnavailable; share != nil && share.Type == intstr.String {
		allowed, err := pdb.Budget(form, replicas)
		least, errLeast := intstr.GetScaledValueFromIntOrPercent(share, int(replicas), false)
		if err == nil && errLeast == nil && int(allowed) > least {
			warn(api.ReasonBudgetForm, fmt.Sprintf("%s has maxUnavailable %s of %d replicas, which Kubernetes rounds up: %d may be down, and the move uses that number", name, share.StrVal, replicas, allowed),
				"if that is too many, set a number: --max-unavailable, spec.maxUnavailable of the Migration")
		}
	}
	if len(s.Destination.Budgets) == 1 && !s.Spec.SameNamespace {
		here, there := evictionPolicy(source), evictionPolicy(s.Destination.Budgets[0])
		if here != there {
			warn(api.ReasonBudgetForm, fmt.Sprintf("%s has unhealthyPodEvictionPolicy %s, and the one of the destination %s: a drain would treat a pod that is not Ready otherwise on each side", name, here, there),
				"give both the same: "+s.Destination.Kubectl().Do("patch", "pdb", "-n", s.Destination.Namespace, s.Destination.Budgets[0].Name, "--type=merge", "-p", fmt.Sprintf(`{"spec":{"unhealthyPodEvictionPolicy":%q}}`, here)))
		}
	}
	return findings
}

func evictionPolicy(b plan.Budget) string {
	return cmp.Or(b.Unhealthy, string(policyv1.IfHealthyBudget))
}
