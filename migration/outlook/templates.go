package outlook

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/utils/ptr"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/inplace"
	"github.com/sliceshift/sliceshift/volumes"
	"github.com/sliceshift/sliceshift/volumes/drift"
)

// Wanted returns the claim templates with the changes of a spec. It does not change the present ones.
func Wanted(present []corev1.PersistentVolumeClaim, asked []api.VolumeSpec) []corev1.PersistentVolumeClaim {
	text, err := json.Marshal(map[string]any{"spec": map[string]any{"volumeClaimTemplates": present}})
	var live inplace.Live
	if err == nil {
		err = json.Unmarshal(text, &live)
	}
	if err == nil {
		live, _, err = live.Want(asked)
	}
	var wanted []corev1.PersistentVolumeClaim
	if err == nil {
		wanted, err = live.Claims()
	}
	if err != nil {
		panic(err) // objects of an API server are JSON
	}
	return wanted
}

// templates returns the changes of each claim template.
func (s State) templates() []Template {
	all := []Template{}
	present := s.Set.Spec.VolumeClaimTemplates
	wanted := Wanted(present, s.Volumes)
	for i := range present {
		all = append(all, Template{present[i].Name, s.methodOf(present[i].Name), changesOf(&present[i], &wanted[i])})
	}
	return all
}

// changesOf returns the fields of a template that change.
func changesOf(from, to *corev1.PersistentVolumeClaim) (changes []Change) {
	add := func(field drift.Field, was, is string) {
		if was != is {
			changes = append(changes, Change{field, was, is})
		}
	}
	add(drift.StorageClass, ptr.Deref(volumes.ClassNamed(from), ""), ptr.Deref(volumes.ClassNamed(to), ""))
	if was, is := requestOf(from), requestOf(to); was.Cmp(*is) != 0 {
		add(drift.Size, was.String(), is.String())
	}
	add(drift.AttributesClass, ptr.Deref(from.Spec.VolumeAttributesClassName, ""), ptr.Deref(to.Spec.VolumeAttributesClassName, ""))
	add(drift.AccessModes, inplace.Modes(from.Spec.AccessModes), inplace.Modes(to.Spec.AccessModes))
	return changes
}

// OfManifest returns the volumes of a spec that change the present claim templates into those of a manifest. Entries of asked
// have precedence, field by field.
func OfManifest(present, manifest []corev1.PersistentVolumeClaim, asked []api.VolumeSpec) ([]api.VolumeSpec, error) {
	for i := range manifest {
		if find(present, manifest[i].Name) == nil {
			return nil, fmt.Errorf("claim template %s does not exist in the running StatefulSet: no volume of it can be changed", manifest[i].Name)
		}
	}
	all := slices.Clone(asked)
	for i := range present {
		to := find(manifest, present[i].Name)
		if to == nil {
			return nil, fmt.Errorf("claim template %s of the running StatefulSet is missing: its volumes would be left behind", present[i].Name)
		}
		if field := carriedNot(&present[i], to); field != "" {
			return nil, fmt.Errorf("claim template %s has another %s: a change in place carries only class, size, attributes class and access modes", to.Name, field)
		}
		if of := ofTemplate(&present[i], to); of != nil {
			all = with(all, *of)
		}
	}
	return all, nil
}

// find returns the template of a name; nil if there is none.
func find(templates []corev1.PersistentVolumeClaim, name string) *corev1.PersistentVolumeClaim {
	at := slices.IndexFunc(templates, func(t corev1.PersistentVolumeClaim) bool { return t.Name == name })
	if at < 0 {
		return nil
	}
	return &templates[at]
}

// carriedNot returns a field that differs and that a change in place does not carry; empty if there is none.
func carriedNot(from, to *corev1.PersistentVolumeClaim) string {
	mode := func(c *corev1.PersistentVolumeClaim) corev1.PersistentVolumeMode {
		return ptr.Deref(c.Spec.VolumeMode, corev1.PersistentVolumeFilesystem)
	}
	switch {
	case mode(from) != mode(to):
		return "volumeMode"
	case !equality.Semantic.DeepEqual(from.Spec.Selector, to.Spec.Selector):
		return "selector"
	case !equality.Semantic.DeepEqual(from.Spec.DataSource, to.Spec.DataSource):
		return "dataSource"
	case to.Spec.DataSourceRef != nil && !equality.Semantic.DeepEqual(from.Spec.DataSourceRef, to.Spec.DataSourceRef):
		return "dataSourceRef"
	case from.Spec.StorageClassName != nil && volumes.ClassNamed(to) == nil:
		return "storageClassName, which is not set,"
	}
	return ""
}

// ofTemplate returns the entry that changes a template; nil if nothing changes.
func ofTemplate(from, to *corev1.PersistentVolumeClaim) *api.VolumeSpec {
	changes := changesOf(from, to)
	if len(changes) == 0 {
		return nil
	}
	of := api.VolumeSpec{ClaimTemplate: to.Name}
	for _, change := range changes {
		switch change.Field { //nolint:exhaustive // changesOf returns no others
		case drift.StorageClass:
			of.StorageClassName = new(change.To)
			if class := to.Spec.VolumeAttributesClassName; ptr.Deref(class, "") != "" {
				of.VolumeAttributesClassName = class // another StorageClass removes the present one
			}
		case drift.Size:
			of.Size = requestOf(to)
		case drift.AttributesClass:
			of.VolumeAttributesClassName = new(change.To)
		case drift.AccessModes:
			of.AccessModes = to.Spec.AccessModes
		}
	}
	return &of
}

// with returns the entries with those fields of another one that its entry lacks.
func with(all []api.VolumeSpec, more api.VolumeSpec) []api.VolumeSpec {
	at := slices.IndexFunc(all, func(v api.VolumeSpec) bool { return v.ClaimTemplate == more.ClaimTemplate })
	if at < 0 {
		return append(all, more)
	}
	of := &all[at]
	of.StorageClassName = cmp.Or(of.StorageClassName, more.StorageClassName)
	of.Size = cmp.Or(of.Size, more.Size)
	of.VolumeAttributesClassName = cmp.Or(of.VolumeAttributesClassName, more.VolumeAttributesClassName)
	if len(of.AccessModes) == 0 {
		of.AccessModes = more.AccessModes
	}
	return all
}

// Choose returns the entries with a method for those that have none: Copy if a claim needs a new volume, else Rebind. If no
// claim was read, the fields decide: a class, access modes and settings of a copy need a new volume.
func Choose(s State) []api.VolumeSpec {
	chosen := slices.Clone(s.Volumes)
	for i := range chosen {
		v := &chosen[i]
		copies := v.StorageClassName != nil || len(v.AccessModes) > 0 || !equality.Semantic.DeepEqual(v.Copy, api.CopySpec{})
		if len(s.Claims) > 0 {
			copies = s.needsCopy(v.ClaimTemplate)
		}
		switch {
		case v.Method != "":
		case copies:
			v.Method = api.MethodCopy
		default:
			v.Method, v.AccessModes, v.Copy = api.MethodRebind, nil, api.CopySpec{} // the claims have these modes, and nothing is copied
		}
	}
	return chosen
}

// needsCopy reports whether a claim of a template needs a new volume.
func (s State) needsCopy(template string) bool {
	return slices.ContainsFunc(s.Claims, func(c Claim) bool {
		return c.Template.Name == template && c.Found != nil && s.compare(&c).Needs() == drift.Copy
	})
}
