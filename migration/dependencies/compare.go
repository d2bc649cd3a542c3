package dependencies

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// content returns the fields by which two objects are compared. It excludes the metadata, which describes the
// object's owners and not its use by pods. The annotations of a ServiceAccount are included, because a cloud
// derives the rights of its pods from them.
func content(cleaned *unstructured.Unstructured) map[string]any {
	tree := maps.Clone(cleaned.Object)
	for _, field := range []string{"apiVersion", "kind", "metadata"} {
		delete(tree, field)
	}
	if annotations := cleaned.GetAnnotations(); cleaned.GetKind() == ServiceAccount && len(annotations) > 0 {
		given := map[string]any{}
		for key, value := range annotations {
			given[key] = value
		}
		tree["annotations"] = given
	}
	if kind, _ := KindOf(cleaned.GetKind()); kind.Storage {
		tree["spec"] = unsized(object(tree, "spec"))
	}
	for field, value := range tree {
		if empty(value) {
			delete(tree, field)
		}
	}
	return tree
}

// unsized returns the spec of a claim or a volume without its size, which may grow.
func unsized(spec map[string]any) map[string]any {
	spec = maps.Clone(spec)
	delete(spec, "capacity")
	delete(spec, "resources")
	return spec
}

// empty reports whether a field is equivalent to an absent one.
func empty(value any) bool {
	switch value := value.(type) {
	case nil:
		return true
	case map[string]any:
		return len(value) == 0
	case []any:
		return len(value) == 0
	default:
		return false
	}
}

// Hash returns a digest of the content of a cleaned object.
func Hash(cleaned *unstructured.Unstructured) string {
	data, err := json.Marshal(content(cleaned))
	if err != nil {
		return "" // never for an object that was decoded from JSON
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:16])
}

// Limits of the text of a difference.
const (
	mostDifferences = 8
	mostOfAValue    = 60
	mostOfAPath     = 120
)

// Difference returns, in one line, where a cleaned object differs from another one: the current value after a
// minus, and the wanted one after a plus. For a Secret it lists the keys but no values.
func Difference(now, wanted *unstructured.Unstructured) string {
	kind, _ := KindOf(now.GetKind())
	before, after := map[string]string{}, map[string]string{}
	flatten(before, "", content(now))
	flatten(after, "", content(wanted))
	paths := slices.Collect(maps.Keys(before))
	paths = append(paths, slices.Collect(maps.Keys(after))...)
	slices.Sort(paths)
	var lines []string
	for _, path := range slices.Compact(paths) {
		was, had := before[path]
		is, has := after[path]
		if was == is && had == has {
			continue
		}
		line := cut(strings.TrimPrefix(path, "."), mostOfAPath) + ":"
		if had {
			line += " -" + shown(was, kind.Secret)
		}
		if has {
			line += " +" + shown(is, kind.Secret)
		}
		lines = append(lines, line)
	}
	if more := len(lines) - mostDifferences; more > 0 {
		lines = append(lines[:mostDifferences], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(lines, "; ")
}

func shown(value string, secret bool) string {
	if secret {
		return "(not shown)"
	}
	return cut(value, mostOfAValue)
}

func cut(text string, most int) string {
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most]) + "..."
	}
	return text
}

func flatten(into map[string]string, path string, value any) {
	switch value := value.(type) {
	case map[string]any:
		for key, item := range value {
			flatten(into, path+"."+key, item)
		}
	case []any:
		for i, item := range value {
			flatten(into, fmt.Sprintf("%s[%d]", path, i), item)
		}
	default:
		data, _ := json.Marshal(value)
		into[path] = string(data)
	}
}

// Rigid reports whether an object cannot be updated to another one and would have to be recreated (kubernetes
// pkg/apis: validation of ConfigMaps, Secrets, RoleBindings, ResourceClaimTemplates, claims, volumes and the
// clusterIP of Services).
func Rigid(now, wanted *unstructured.Unstructured) bool {
	switch now.GetKind() {
	case ConfigMap, Secret:
		immutable, _, _ := unstructured.NestedBool(now.Object, "immutable")
		return immutable || text(now.Object, "type") != text(wanted.Object, "type")
	case RoleBinding:
		return !equality.Semantic.DeepEqual(object(now.Object, "roleRef"), object(wanted.Object, "roleRef"))
	case ResourceClaimTemplate, PersistentVolume, PersistentVolumeClaim:
		return true
	case Service:
		return (text(now.Object, "spec", "clusterIP") == headless) != (text(wanted.Object, "spec", "clusterIP") == headless)
	default:
		return false
	}
}

const headless = "None"

// Merge returns an existing object with the content of a cleaned one. Fields that cleaning leaves out remain
// unchanged, so a Service keeps its address and a ServiceAccount its tokens.
func Merge(now, wanted *unstructured.Unstructured, way Way) *unstructured.Unstructured {
	home := Clean(now, way.Home())
	merged := now.DeepCopy()
	for field := range union(home.Object, wanted.Object) {
		switch field {
		case "apiVersion", "kind", "metadata":
			continue
		case "subjects":
			merged.Object[field] = mergeSubjects(now, wanted, way)
			continue
		}
		was, is := object(home.Object, field), object(wanted.Object, field)
		if there := object(merged.Object, field); there != nil && (was != nil || is != nil) {
			maps.DeleteFunc(there, func(key string, _ any) bool { _, cleaned := was[key]; return cleaned })
			maps.Copy(there, is)
			continue
		}
		if value, has := wanted.Object[field]; has {
			merged.Object[field] = value
		} else {
			delete(merged.Object, field)
		}
	}
	merged.SetLabels(mergeStrings(merged.GetLabels(), wanted.GetLabels()))
	annotations := merged.GetAnnotations()
	if now.GetKind() == ServiceAccount {
		maps.DeleteFunc(annotations, func(key, _ string) bool { _, cleaned := home.GetAnnotations()[key]; return cleaned })
	}
	merged.SetAnnotations(mergeStrings(annotations, wanted.GetAnnotations()))
	return merged
}

// mergeSubjects keeps the other subjects of an existing binding.
func mergeSubjects(now, wanted *unstructured.Unstructured, way Way) []any {
	var subjects []any
	for _, subject := range items(now.Object, "subjects") {
		if !reached(subject, way.To.Namespace, way.To.Namespace, way.Account) {
			subjects = append(subjects, subject)
		}
	}
	for _, subject := range items(wanted.Object, "subjects") {
		subjects = append(subjects, subject)
	}
	return subjects
}

func mergeStrings(into, from map[string]string) map[string]string {
	if len(from) == 0 {
		return into
	}
	merged := maps.Clone(into)
	if merged == nil {
		merged = map[string]string{}
	}
	maps.Copy(merged, from)
	return merged
}

func union(a, b map[string]any) map[string]bool {
	keys := map[string]bool{}
	for key := range a {
		keys[key] = true
	}
	for key := range b {
		keys[key] = true
	}
	return keys
}

// Bare reports whether a cleaned object has no content, so that it is equal to any other bare object.
func Bare(cleaned *unstructured.Unstructured) bool { return len(content(cleaned)) == 0 }
