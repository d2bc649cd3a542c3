package outlook

import (
	"fmt"

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
		Name:   "templates in place",
		Looks:  "at the claim templates that change, for data sources and for the name of a volume.",
		Why:    "The next claim of an ordinal would ask for the content of the source, or for its former volume, instead of its data.",
		Remedy: "Recreate the StatefulSet without that field first.",
		Find:   templates,
	},
	{
		Name:   "classes in place",
		Looks:  "at the VolumeAttributesClass of each claim template that changes.",
		Why:    "A new volume would not get these attributes.",
		Remedy: "Create the class, or name another one.",
		Find:   classes,
	},
	{
		Name:   "methods in place",
		Looks:  "at each claim that gets a new volume, and whether the method of its template can fill it: its size, files or blocks.",
		Why:    "The change would begin, and stall at the first such claim.",
		Remedy: "Use method Copy for a smaller volume; ask for at least the present size of a block device.",
		Find:   methods,
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
}

// object names the StatefulSet.
func (s State) object() string {
	return fmt.Sprintf("StatefulSet %s/%s in cluster %s", s.Set.Namespace, s.Set.Name, s.Cluster)
}

// claimed names a claim.
func (s State) claimed(c *Claim) string {
	return fmt.Sprintf("claim %s/%s in cluster %s", s.Set.Namespace, c.Name, s.Cluster)
}

func templates(s State) []plan.Finding {
	var found []plan.Finding
	for _, template := range s.Set.Spec.VolumeClaimTemplates {
		what, asks := "", ""
		switch {
		case !s.replaces(template.Name):
		case template.Spec.DataSource != nil || template.Spec.DataSourceRef != nil:
			what, asks = "a data source", "its content"
		case template.Spec.VolumeName != "":
			what, asks = "a volumeName", "volume "+template.Spec.VolumeName
		}
		if what == "" {
			continue
		}
		found = append(found, plan.Finding{
			Reason: api.ReasonStorageUnfit, Object: s.object(),
			Message: fmt.Sprintf("claim template %s of %s has %s: the next claim of an ordinal would ask for %s instead of the ordinal's data", template.Name, s.object(), what, asks),
			Remedy:  "recreate the StatefulSet without " + what + " first, from its manifest, and let its pods run: " + s.Kubectl.Do("get", s.Resource, "-n", s.Set.Namespace, s.Set.Name, "-o", "yaml"),
		})
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
