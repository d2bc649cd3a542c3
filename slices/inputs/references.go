package inputs

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"

	api "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
)

// Ref names an object in the namespace of the set.
type Ref struct {
	Kind api.RevisionInputKind
	Name string
}

// String returns the kind and the name.
func (r Ref) String() string { return string(r.Kind) + " " + r.Name }

func (r Ref) compare(other Ref) int {
	return cmp.Or(cmp.Compare(r.Kind, other.Kind), cmp.Compare(r.Name, other.Name))
}

// reference is a field of a pod that names a ConfigMap or a Secret.
type reference struct {
	kind     api.RevisionInputKind
	name     *string
	optional *bool
}

func (r reference) ref() Ref { return Ref{r.kind, *r.name} }

// references returns the fields of a pod by which its containers read a ConfigMap or a Secret.
func references(spec *corev1.PodSpec) []reference {
	var all []reference
	for i := range spec.Volumes {
		all = append(all, ofVolume(&spec.Volumes[i])...)
	}
	for _, containers := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
		for i := range containers {
			all = append(all, ofContainer(&containers[i])...)
		}
	}
	return slices.DeleteFunc(all, func(r reference) bool { return *r.name == "" })
}

func ofVolume(volume *corev1.Volume) (all []reference) {
	if source := volume.ConfigMap; source != nil {
		all = append(all, reference{api.InputConfigMap, &source.Name, source.Optional})
	}
	if source := volume.Secret; source != nil {
		all = append(all, reference{api.InputSecret, &source.SecretName, source.Optional})
	}
	if volume.Projected == nil {
		return all
	}
	for i := range volume.Projected.Sources {
		if source := volume.Projected.Sources[i].ConfigMap; source != nil {
			all = append(all, reference{api.InputConfigMap, &source.Name, source.Optional})
		}
		if source := volume.Projected.Sources[i].Secret; source != nil {
			all = append(all, reference{api.InputSecret, &source.Name, source.Optional})
		}
	}
	return all
}

func ofContainer(container *corev1.Container) (all []reference) {
	for i := range container.EnvFrom {
		if source := container.EnvFrom[i].ConfigMapRef; source != nil {
			all = append(all, reference{api.InputConfigMap, &source.Name, source.Optional})
		}
		if source := container.EnvFrom[i].SecretRef; source != nil {
			all = append(all, reference{api.InputSecret, &source.Name, source.Optional})
		}
	}
	for i := range container.Env {
		from := container.Env[i].ValueFrom
		if from == nil {
			continue
		}
		if source := from.ConfigMapKeyRef; source != nil {
			all = append(all, reference{api.InputConfigMap, &source.Name, source.Optional})
		}
		if source := from.SecretKeyRef; source != nil {
			all = append(all, reference{api.InputSecret, &source.Name, source.Optional})
		}
	}
	return all
}

// Named is a listed object that a template names.
type Named struct {
	Ref
	// Optional is true when pods start without the object.
	Optional   bool
	rolledBack *api.RolledBackInput
}

// NamedBy returns the listed objects that a template names, sorted.
func NamedBy(template *corev1.PodTemplateSpec, listed []api.RevisionInput) []Named {
	if len(listed) == 0 {
		return nil
	}
	optional := map[Ref]bool{}
	for _, r := range references(&template.Spec) {
		is, known := optional[r.ref()]
		optional[r.ref()] = (is || !known) && r.optional != nil && *r.optional
	}
	var all []Named
	for _, input := range listed {
		ref := Ref{input.Kind, input.Name}
		if is, named := optional[ref]; named {
			all = append(all, Named{ref, is, input.RolledBack})
		}
	}
	slices.SortFunc(all, func(a, b Named) int { return a.compare(b.Ref) })
	return all
}

// Rewrite returns the template of pods of a revision, which refers to the copies of its inputs. It returns the template itself
// if the revision has no inputs.
func Rewrite(template *corev1.PodTemplateSpec, records []Record) *corev1.PodTemplateSpec {
	if len(records) == 0 {
		return template
	}
	copies := map[Ref]string{}
	for _, record := range records {
		copies[record.Ref()] = record.Copy()
	}
	out := template.DeepCopy()
	for _, r := range references(&out.Spec) {
		if name, is := copies[r.ref()]; is {
			*r.name = name
		}
	}
	return out
}
