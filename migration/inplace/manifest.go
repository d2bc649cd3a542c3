package inplace

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/volumes"
)

// Live is a StatefulSet as an API server returns it. It has the fields of any version of Kubernetes, because the set is
// deleted and created again with all of them.
type Live map[string]any

// ReadManifest returns the set of a manifest.
func ReadManifest(m Manifest) (Live, error) {
	var live Live
	if err := json.Unmarshal([]byte(m.Text), &live); err != nil {
		return nil, fmt.Errorf("reading a recorded StatefulSet: %w", err)
	}
	return live, nil
}

// same reports whether two manifests create the same set. The owners of fields do not count, which change with each status.
func (m Manifest) same(other Manifest) bool {
	return m.Text == other.Text || m.unowned() == other.unowned()
}

// unowned returns the text of a manifest without the owners of its fields.
func (m Manifest) unowned() string {
	live, err := ReadManifest(m)
	if err != nil || live == nil {
		return m.Text
	}
	metadata := maps.Clone(under(live, "metadata"))
	delete(metadata, "managedFields")
	live["metadata"] = metadata
	text, err := json.Marshal(live)
	if err != nil {
		return m.Text
	}
	return string(text)
}

// serverSet lists the metadata that an API server sets. managedFields are recorded: their owners get the fields back.
var serverSet = []string{"uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"}

// ours lists the annotations of migrations.
var ours = []string{api.FenceAnnotationKey, api.PokeAnnotationKey}

// Manifest returns the set as it can be created again. standard is the name of the default storage class; empty without
// one.
func (l Live) Manifest(standard string) (Manifest, error) {
	bare := maps.Clone(l)
	delete(bare, "status")
	metadata := maps.Clone(under(bare, "metadata"))
	for _, key := range serverSet {
		delete(metadata, key)
	}
	if annotations := maps.Clone(under(metadata, "annotations")); annotations != nil {
		for _, key := range ours {
			delete(annotations, key)
		}
		metadata["annotations"] = annotations
	}
	bare["metadata"] = metadata
	text, err := json.Marshal(bare)
	if err != nil {
		return Manifest{}, fmt.Errorf("encoding a StatefulSet: %w", err)
	}
	m := Manifest{Text: string(text)}
	claims, err := l.Claims()
	for i := range claims {
		m.Templates = append(m.Templates, templateOf(&claims[i], standard))
	}
	return m, err
}

// Claims returns the claim templates, in their order.
func (l Live) Claims() ([]corev1.PersistentVolumeClaim, error) {
	data, err := json.Marshal(under(l, "spec")["volumeClaimTemplates"])
	if err != nil {
		return nil, fmt.Errorf("encoding claim templates: %w", err)
	}
	var claims []corev1.PersistentVolumeClaim
	if err := json.Unmarshal(data, &claims); err != nil {
		return nil, fmt.Errorf("reading claim templates: %w", err)
	}
	return claims, nil
}

// Claim returns the claim template of a manifest with a name, with the labels that the controller of the set adds to its
// claims (kubernetes stateful_set_utils.go, getPersistentVolumeClaims), and with the class that it means; nil if there is
// none. The API server would give a claim without a class the one that is the default by then.
func (m Manifest) Claim(name string) *corev1.PersistentVolumeClaim {
	live, err := ReadManifest(m)
	if err != nil {
		return nil
	}
	claims, err := live.Claims()
	at := slices.IndexFunc(claims, func(c corev1.PersistentVolumeClaim) bool { return c.Name == name })
	if err != nil || at < 0 {
		return nil
	}
	claim := &claims[at]
	if of := slices.IndexFunc(m.Templates, func(t Template) bool { return t.Name == name }); of >= 0 {
		volumes.NameClass(claim, m.Templates[of].Class)
	}
	for key, value := range under(under(under(live, "spec"), "selector"), "matchLabels") {
		if text, is := value.(string); is {
			metav1.SetMetaDataLabel(&claim.ObjectMeta, key, text)
		}
	}
	return claim
}

// In returns the live set with the claim templates of a manifest. All of its other fields may have changed since that was
// recorded, and stay as they are.
func (m Manifest) In(l Live) (Live, error) {
	recorded, err := ReadManifest(m)
	if err != nil {
		return nil, err
	}
	other := l.withTemplates(under(recorded, "spec")["volumeClaimTemplates"])
	metadata := maps.Clone(under(other, "metadata"))
	if fields, recorded := under(recorded, "metadata")["managedFields"]; recorded {
		metadata["managedFields"] = fields
	}
	other["metadata"] = metadata
	return other, nil
}

func (l Live) withTemplates(templates any) Live {
	other := maps.Clone(l)
	spec := maps.Clone(under(l, "spec"))
	spec["volumeClaimTemplates"] = templates
	other["spec"] = spec
	return other
}

// Want returns the set with the claim templates that spec.volumes asks for, and the reasons against them. A field that is
// not asked for stays as it is.
func (l Live) Want(asked []api.VolumeSpec) (Live, []volumes.Reason, error) {
	var objections []volumes.Reason
	templates, _ := under(l, "spec")["volumeClaimTemplates"].([]any)
	templates = slices.Clone(templates)
	for _, v := range asked {
		at := slices.IndexFunc(templates, func(t any) bool { return nameOf(t) == v.ClaimTemplate })
		if at < 0 {
			objections = append(objections, *volumes.Stalled(api.ReasonClaimTemplateMissing,
				"spec.volumes names claim template "+v.ClaimTemplate+", and the StatefulSet has none of that name", "correct the name: it has "+templateNames(templates)))
			continue
		}
		templates[at] = changed(templates[at], v)
	}
	return l.withTemplates(templates), objections, nil
}

// changed returns a claim template with the fields that are asked for. A VolumeAttributesClass belongs to the driver of the
// former class, so that another class removes it, and so does another class the annotation that precedes
// spec.storageClassName.
func changed(template any, v api.VolumeSpec) any {
	has, _ := template.(map[string]any)
	next, spec := maps.Clone(has), maps.Clone(under(has, "spec"))
	if v.StorageClassName != nil {
		if spec["storageClassName"] != *v.StorageClassName {
			delete(spec, "volumeAttributesClassName")
		}
		spec["storageClassName"] = *v.StorageClassName
		metadata := maps.Clone(under(has, "metadata"))
		if annotations := maps.Clone(under(metadata, "annotations")); annotations != nil {
			delete(annotations, corev1.BetaStorageClassAnnotation)
			metadata["annotations"] = annotations
		}
		next["metadata"] = metadata
	}
	if v.VolumeAttributesClassName != nil {
		spec["volumeAttributesClassName"] = *v.VolumeAttributesClassName
		if *v.VolumeAttributesClassName == "" {
			delete(spec, "volumeAttributesClassName")
		}
	}
	if len(v.AccessModes) > 0 {
		modes := make([]any, 0, len(v.AccessModes))
		for _, mode := range v.AccessModes {
			modes = append(modes, string(mode))
		}
		spec["accessModes"] = modes
	}
	if v.Size != nil {
		resources := maps.Clone(under(spec, "resources"))
		requests := maps.Clone(under(resources, "requests"))
		if resources == nil {
			resources = map[string]any{}
		}
		if requests == nil {
			requests = map[string]any{}
		}
		requests[string(corev1.ResourceStorage)] = v.Size.String()
		resources["requests"], spec["resources"] = requests, resources
	}
	next["spec"] = spec
	return next
}

func templateOf(claim *corev1.PersistentVolumeClaim, standard string) Template {
	t := Template{Name: claim.Name, Class: standard, Size: claim.Spec.Resources.Requests.Storage().Value(), Modes: Modes(claim.Spec.AccessModes)}
	if named := volumes.ClassNamed(claim); named != nil {
		t.Class = *named
	}
	if mode := claim.Spec.VolumeMode; mode != nil {
		t.Block = *mode == corev1.PersistentVolumeBlock
	}
	if class := claim.Spec.VolumeAttributesClassName; class != nil {
		t.Attributes = *class
	}
	return t
}

// Modes returns access modes as in Template.
func Modes(modes []corev1.PersistentVolumeAccessMode) string {
	sorted := slices.Clone(modes)
	slices.Sort(sorted)
	return api.Modes(slices.Compact(sorted))
}

// under returns an object within another one; nil if there is none.
func under(in map[string]any, key string) map[string]any {
	found, _ := in[key].(map[string]any)
	return found
}

func nameOf(template any) string {
	object, _ := template.(map[string]any)
	name, _ := under(object, "metadata")["name"].(string)
	return name
}

func templateNames(templates []any) string {
	names := make([]string, 0, len(templates))
	for _, t := range templates {
		names = append(names, nameOf(t))
	}
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}
