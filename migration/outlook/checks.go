package outlook

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
)

// Check looks for a reason why a change in place would fail, before anything is written.
type Check struct {
	// Name identifies it. Looks, Why and Remedy are as in package preflight, which documents all checks.
	Name, Looks, Why, Remedy string
	// Find returns the findings in a state.
	Find func(State) []plan.Finding
}

// Checks are in the order of their findings.
var Checks = []Check{
	{
		Name:   "kind in place",
		Looks:  "at the kind of the StatefulSet.",
		Why:    "Our own kind changes its claims in a rollout, and is not recreated.",
		Remedy: "Use volumeClaimUpdateStrategy for a larger size; for another class, move the set to another name.",
		Find:   ownKind,
	},
	{
		Name:   "templates in place",
		Looks:  "at the claim templates that spec.volumes names: whether the set has them, and whether the wanted ones have a data source.",
		Why:    "The change would apply to no volume, or new claims would be filled from another source.",
		Remedy: "Correct the name, or remove the data source from the template.",
		Find:   templates,
	},
	{
		Name:   "classes in place",
		Looks:  "at the StorageClass and the VolumeAttributesClass of each wanted claim template.",
		Why:    "A new volume would never be provisioned, or not with these attributes.",
		Remedy: "Create the class, or name another one.",
		Find:   classes,
	},
	{
		Name:   "methods in place",
		Looks:  "at each difference between a claim and its wanted template, and whether the method of the template removes it.",
		Why:    "The change would begin, and stall at the first such claim.",
		Remedy: "Use method Copy, which can change class, size and access modes.",
		Find:   methods,
	},
	{
		Name:   "claims in place",
		Looks:  "at the claims of all ordinals: whether each is bound, is not being deleted, has no owner, and is used by no other pod.",
		Why:    "The claim of an ordinal is deleted and created again; its volume must be its own.",
		Remedy: "Bind the claim, remove its owner, or end the other pod.",
		Find:   claims,
	},
	{
		Name:   "retention in place",
		Looks:  "at persistentVolumeClaimRetentionPolicy.whenDeleted.",
		Why:    "The set is deleted and created again while its pods run, and its claims would be deleted with it.",
		Remedy: "Set it to Retain until the end.",
		Find:   retention,
	},
	{
		Name:   "room in place",
		Looks:  "at the sizes of the new volumes, if they are smaller, and at the bytes in use.",
		Why:    "The data of an ordinal must fit into its new volume, with a margin. The warm pass measures the bytes before the ordinal is stopped.",
		Remedy: "Request a larger size, or delete data.",
		Find:   room,
	},
	{
		Name:   "zones in place",
		Looks:  "at the topology of each new class, the node affinity of the pods, and the other volumes of an ordinal.",
		Why:    "A pod that no node can take together with all of its volumes stays Pending.",
		Remedy: "Use a class with volumeBindingMode WaitForFirstConsumer, in a zone where the pods may run.",
		Find:   zones,
	},
	{
		Name:   "warm passes in place",
		Looks:  "for copied claims with access mode ReadWriteOncePod.",
		Why:    "No second pod can read such a volume while its ordinal runs, so the whole copy is part of the outage.",
		Remedy: "Copy from a snapshot with warm=snapshot, or accept the outage.",
		Find:   warm,
	},
}

// Findings returns the findings of all checks.
func Findings(s State) []plan.Finding {
	var all []plan.Finding
	for _, check := range Checks {
		all = append(all, plan.OfCheck(check.Name, check.Find(s)...)...)
	}
	return all
}

// object names the StatefulSet.
func (s State) object() string {
	return fmt.Sprintf("StatefulSet %s/%s in cluster %s", s.Set.Namespace, s.Set.Name, s.Cluster)
}

// claimed names a claim.
func (s State) claimed(c *Claim) string {
	return fmt.Sprintf("claim %s/%s in cluster %s", s.Set.Namespace, c.Name, s.Cluster)
}

func ownKind(s State) []plan.Finding {
	if !s.Own {
		return nil
	}
	return []plan.Finding{{
		Reason: api.ReasonKindUnsupported, Object: s.object(),
		Message: s.object() + " is of our own kind, whose storage is not changed in place yet: the manager would recreate it",
		Remedy:  "for a larger size, set volumeClaimUpdateStrategy, and raise the template; for another class, move the set to another name",
	}}
}

func templates(s State) []plan.Finding {
	var found []plan.Finding
	for _, v := range s.Volumes {
		if find(s.Set.Spec.VolumeClaimTemplates, v.ClaimTemplate) == nil {
			found = append(found, plan.Finding{
				Reason: api.ReasonClaimTemplateMissing, Object: s.object(),
				Message: fmt.Sprintf("spec.volumes names claim template %s, but %s does not have it: the entry would apply to no volume", v.ClaimTemplate, s.object()),
				Remedy:  "correct the name: --volume, or claimTemplate in spec.volumes",
			})
		}
	}
	for _, template := range s.Set.Spec.VolumeClaimTemplates {
		if s.replaces(template.Name) && (template.Spec.DataSource != nil || template.Spec.DataSourceRef != nil) {
			found = append(found, plan.Finding{
				Reason: api.ReasonStorageUnfit, Object: s.object(),
				Message: fmt.Sprintf("claim template %s of %s has a data source: the next claim of an ordinal would ask for its content instead of the ordinal's data", template.Name, s.object()),
				Remedy:  "recreate the StatefulSet without the data source first: " + s.Kubectl.Do("delete", s.Resource, "-n", s.Set.Namespace, s.Set.Name, "--cascade=orphan"),
			})
		}
	}
	return found
}

// replaces reports whether claims of a template get new volumes.
func (s State) replaces(template string) bool {
	for i := range s.Claims {
		if c := &s.Claims[i]; c.Template.Name == template && s.judge(c).Work.stops() {
			return true
		}
	}
	return false
}

func retention(s State) []plan.Finding {
	policy := s.Set.Spec.PersistentVolumeClaimRetentionPolicy
	if policy == nil || policy.WhenDeleted != appsv1.DeletePersistentVolumeClaimRetentionPolicyType {
		return nil
	}
	return []plan.Finding{{
		Reason: api.ReasonClaimsDeletedOnScale, Object: s.object(),
		Message: s.object() + " has persistentVolumeClaimRetentionPolicy.whenDeleted: Delete: its claims would be deleted when it is recreated",
		Remedy:  s.Kubectl.Do("patch", s.Resource, "-n", s.Set.Namespace, s.Set.Name, "--type=merge", "-p", `{"spec":{"persistentVolumeClaimRetentionPolicy":{"whenDeleted":"Retain"}}}`),
	}}
}

// has reports whether a claim has an access mode.
func has(claim *corev1.PersistentVolumeClaim, mode corev1.PersistentVolumeAccessMode) bool {
	for _, each := range claim.Spec.AccessModes {
		if each == mode {
			return true
		}
	}
	return false
}
