package outlook

import (
	"cmp"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/component-helpers/storage/volume"
	"k8s.io/utils/ptr"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/volumes"
)

// classes finds classes of attributes that do not exist, or are of another driver than the StorageClass.
func classes(s State) []plan.Finding {
	var found []plan.Finding
	for _, template := range Wanted(s.Set.Spec.VolumeClaimTemplates, s.Volumes) {
		class := s.classOf(&template)
		asked := api.AskedOf(s.Volumes, template.Name)
		name := ptr.Deref(template.Spec.VolumeAttributesClassName, "")
		if name == "" || s.Classes.Attributes == nil || asked.VolumeAttributesClassName == nil {
			continue
		}
		at := slices.IndexFunc(s.Classes.Attributes, func(c storagev1.VolumeAttributesClass) bool { return c.Name == name })
		switch {
		case at < 0:
			found = append(found, s.classMissing("VolumeAttributesClass "+name, template.Name, "does not exist", "volumeattributesclass"))
		case class != nil && class.Provisioner != s.Classes.Attributes[at].DriverName:
			found = append(found, s.classMissing("VolumeAttributesClass "+name, template.Name,
				fmt.Sprintf("is of driver %s, and StorageClass %s of %s", s.Classes.Attributes[at].DriverName, class.Name, class.Provisioner), "volumeattributesclass"))
		}
	}
	return found
}

// classMissing returns the finding for a class that cannot be used.
func (s State) classMissing(object, template, why, resource string) plan.Finding {
	return plan.Finding{
		Reason: volumes.ReasonClassMissing, Object: object,
		Message: fmt.Sprintf("%s in cluster %s, which claim template %s would name, %s: the new volumes would not be provisioned", object, s.Cluster, template, why),
		Remedy:  "create it, or name another one: " + s.Kubectl.Do("get", resource),
	}
}

// classOf returns the effective class of a template; nil if there is none.
func (s State) classOf(template *corev1.PersistentVolumeClaim) *storagev1.StorageClass {
	return volumes.FindClass(volumes.ClassNamed(template), s.Classes.Storage)
}

// zones finds ordinals that no node could take with all of their volumes, and classes whose driver chooses the zone before
// the pod has a node. Nodes that could not be read are not judged.
func zones(s State) []plan.Finding {
	if s.Nodes == nil {
		return nil
	}
	var found []plan.Finding
	for _, o := range s.ordinals() {
		for _, c := range o.Claims {
			if !c.Work.stops() {
				continue
			}
			template := find(Wanted(s.Set.Spec.VolumeClaimTemplates, s.Volumes), c.Template)
			if finding := s.zone(o, c, s.classOf(template)); finding != nil {
				found = append(found, *finding)
			}
		}
	}
	return found
}

// zone judges the new volume of a claim.
func (s State) zone(o Ordinal, c Judged, class *storagev1.StorageClass) *plan.Finding {
	if class == nil {
		return nil
	}
	fits, reached := s.nodesFor(o), reachedBy(class, s.Nodes)
	both := slices.DeleteFunc(slices.Clone(reached), func(n corev1.Node) bool { return !contains(fits, n) })
	at := ptr.Deref(class.VolumeBindingMode, storagev1.VolumeBindingImmediate)
	object := fmt.Sprintf("claim %s/%s in cluster %s", s.Set.Namespace, c.Name, s.Cluster)
	switch {
	case len(fits) > 0 && len(both) == 0:
		return &plan.Finding{
			Reason: volumes.ReasonVolumeOutOfReach, Object: object,
			Message: fmt.Sprintf("%s: no node that takes pod %s with its other volumes is in the topology of StorageClass %s: the pod would stay Pending on its new volume", object, plan.PodName(s.Set.Name, o.Ordinal), class.Name),
			Remedy:  "name a class whose volumes are reached where the pod may run: " + s.Kubectl.Do("get", "storageclass", class.Name, "-o", "yaml"),
		}
	case at == storagev1.VolumeBindingImmediate && len(both) < len(reached) && !sameZones(both, reached):
		return &plan.Finding{
			Reason: volumes.ReasonVolumeOutOfReach, Object: object, Warning: true,
			Message: fmt.Sprintf("%s: StorageClass %s binds at once (volumeBindingMode Immediate), and its driver may choose a zone where pod %s cannot run: the ordinal is then not stopped, and stalls", object, class.Name, plan.PodName(s.Set.Name, o.Ordinal)),
			Remedy:  "name a class with volumeBindingMode WaitForFirstConsumer, or restrict allowedTopologies of the class",
		}
	}
	return nil
}

// nodesFor returns the nodes that the node affinity of the pods and the volumes that an ordinal keeps allow.
func (s State) nodesFor(o Ordinal) []corev1.Node {
	affinity := nodeaffinity.GetRequiredNodeAffinity(&corev1.Pod{Spec: s.Set.Spec.Template.Spec})
	var fitting []corev1.Node
	for _, node := range s.Nodes {
		if match, err := affinity.Match(&node); err == nil && match && s.reachesKept(o, node) {
			fitting = append(fitting, node)
		}
	}
	return fitting
}

// reachesKept reports whether a node reaches the volumes that an ordinal keeps.
func (s State) reachesKept(o Ordinal, node corev1.Node) bool {
	for i := range s.Claims {
		c := &s.Claims[i]
		keeps := c.Ordinal == o.Ordinal && !slices.ContainsFunc(o.Claims, func(j Judged) bool { return j.Name == c.Name && j.Work.stops() })
		if keeps && c.Volume != nil && volume.CheckNodeAffinity(c.Volume, node.Labels) != nil {
			return false
		}
	}
	return true
}

// reachedBy returns the nodes within the allowed topologies of a class.
func reachedBy(class *storagev1.StorageClass, nodes []corev1.Node) []corev1.Node {
	return slices.DeleteFunc(slices.Clone(nodes), func(node corev1.Node) bool { return !volumes.Provides(class, node.Labels) })
}

func contains(nodes []corev1.Node, node corev1.Node) bool {
	return slices.ContainsFunc(nodes, func(n corev1.Node) bool { return n.Name == node.Name })
}

// sameZones reports whether two lists of nodes are in the same zones.
func sameZones(a, b []corev1.Node) bool { return slices.Equal(zonesOf(a), zonesOf(b)) }

func zonesOf(nodes []corev1.Node) []string {
	var all []string
	for _, node := range nodes {
		all = append(all, cmp.Or(node.Labels[corev1.LabelTopologyZone], node.Labels[corev1.LabelFailureDomainBetaZone]))
	}
	slices.Sort(all)
	return slices.Compact(all)
}
