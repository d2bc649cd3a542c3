// Package storage checks what volumes of a StatefulSet depend on: their classes, resizes in progress, and inline
// ephemeral volumes.
package storage

import (
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/sliceshift/sliceshift/migration/endpoint"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/volumes"
)

// Asked holds the requirements of a migration for claim templates, by their names.
type Asked struct {
	// Forms are the forms of the destination's claims.
	Forms map[string]volumes.Form
	// Drivers are the CSI drivers of the volumes that are carried over.
	Drivers map[string]string
	// Anew marks the templates for which the destination creates new volumes for the moving ordinals.
	Anew map[string]bool
}

// Classes warns of claim templates whose storage class the destination lacks, or has with another driver than the
// volumes have. A volume that is carried over needs no class, but the claim of an ordinal that is added there later
// does. If new volumes are created for the moving ordinals, it refuses.
func Classes(at endpoint.Endpoint, source *appsv1.StatefulSet, classes []storagev1.StorageClass, asked Asked) []plan.Finding {
	var found []plan.Finding
	for i := range source.Spec.VolumeClaimTemplates {
		template := source.Spec.VolumeClaimTemplates[i]
		asked.Forms[template.Name].Give(&template)
		name := volumes.ClassNamed(&template)
		if name != nil && *name == "" {
			continue // its volumes are provisioned by hand
		}
		if finding := classOf(at, template.Name, name, classes, asked.Drivers[template.Name]); finding != nil {
			if asked.Anew[template.Name] {
				finding.Warning = false
				finding.Message = fmt.Sprintf("cluster %s lacks %s for claim template %s: a moved ordinal would be stopped, and its new volume never provisioned", at.Cluster, finding.Object, template.Name)
			}
			found = append(found, *finding)
		}
	}
	return found
}

// Provisioner returns the CSI driver that provisions the volume of a claim; empty if it is not known, or if there is
// none.
func Provisioner(claim *corev1.PersistentVolumeClaim, classes []storagev1.StorageClass) string {
	class := volumes.FindClass(volumes.ClassNamed(claim), classes)
	if class == nil || class.Provisioner == noProvisioner {
		return ""
	}
	return class.Provisioner
}

func classOf(at endpoint.Endpoint, template string, name *string, classes []storagev1.StorageClass, driver string) *plan.Finding {
	object, class := "StorageClass", volumes.FindClass(name, classes)
	if name != nil {
		object = "StorageClass " + *name
	}
	switch {
	case class == nil && name == nil:
		return warning(volumes.ReasonClassMissing, fmt.Sprintf("cluster %s has no default StorageClass, and claim template %s names none: the claim of an ordinal that is added there later would stay Pending", at.Cluster, template),
			"mark one as the default there, or name one: spec.volumes of the Migration, --storage-class "+template+"=CLASS", object)
	case class == nil:
		return warning(volumes.ReasonClassMissing, fmt.Sprintf("cluster %s has no %s, which claim template %s names: the volumes that are carried over need none, and the claim of an ordinal that is added there later would stay Pending", at.Cluster, object, template),
			"create it there, or name another one: spec.volumes of the Migration, --storage-class "+template+"=CLASS", object)
	case driver != "" && class.Provisioner != driver:
		return warning(volumes.ReasonClassMissing, fmt.Sprintf("StorageClass %s in cluster %s is of driver %s, and the volumes of claim template %s are of %s: an ordinal that is added there later gets another kind of volume", class.Name, at.Cluster, class.Provisioner, template, driver),
			"name a class of that driver: spec.volumes of the Migration, --storage-class "+template+"=CLASS", object)
	}
	return nil
}

func warning(reason, message, remedy, object string) *plan.Finding {
	return &plan.Finding{Reason: reason, Object: object, Message: message, Remedy: remedy, Warning: true}
}

// Inline finds drivers of inline ephemeral volumes that do not support these at the destination. drivers are those of
// its CSI drivers that the template references. A missing driver is reported with the other dependencies.
func Inline(e *endpoint.Pair, spec corev1.PodSpec, drivers []storagev1.CSIDriver) []plan.Finding {
	var found []plan.Finding
	for _, v := range spec.Volumes {
		if v.CSI == nil {
			continue
		}
		i := slices.IndexFunc(drivers, func(d storagev1.CSIDriver) bool { return d.Name == v.CSI.Driver })
		if i < 0 || slices.Contains(drivers[i].Spec.VolumeLifecycleModes, storagev1.VolumeLifecycleEphemeral) {
			continue
		}
		found = append(found, plan.Finding{
			Reason: volumes.ReasonDriverMissing, Object: "CSIDriver " + v.CSI.Driver,
			Message: fmt.Sprintf("volume %s of the pod template needs CSI driver %s, which in cluster %s provides no inline volumes (volumeLifecycleModes): a moved pod could not start", v.Name, v.CSI.Driver, e.Destination.Cluster),
			Remedy:  "install the driver there with the same settings as in the source's cluster: " + e.Source.Kubectl().Do("get", "csidriver", v.CSI.Driver, "-o", "yaml"),
		})
	}
	return found
}
