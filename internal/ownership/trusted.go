package ownership

import (
	"encoding/json"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Limits for what the API server of the replaced object may contribute. With more, the API server of the new one could
// refuse the write, or take all fields from all managers (kubernetes apimachinery, pkg/apis/meta/v1/validation and
// pkg/util/managedfields/internal, decodeLiveOrNew).
const (
	// mostEntries and mostBytes limit managed fields. Usual ones have some entries and some KiB.
	mostEntries, mostBytes = 100, 256 << 10
	// mostDepth limits the depth of a tree of fields. A pod template has about 12 levels.
	mostDepth = 64
	// mostName limits the length of a manager, and mostSubresource that of a subresource.
	mostName, mostSubresource = 128, 256
	// mostApplied limits the recorded manifest. All annotations of an object have 256 KiB together.
	mostApplied = 128 << 10
)

// trusted returns the entries that an API server accepts. One that it would not accept is left out: its manager owns
// nothing, and gets its fields with its next apply.
func trusted(entries []metav1.ManagedFieldsEntry) []metav1.ManagedFieldsEntry {
	var all []metav1.ManagedFieldsEntry
	size := 0
	for _, entry := range entries {
		if entry.FieldsV1 == nil || !acceptable(entry) {
			continue
		}
		size += len(entry.FieldsV1.GetRawBytes())
		if size > mostBytes || len(all) == mostEntries {
			break
		}
		all = append(all, entry)
	}
	return all
}

func acceptable(entry metav1.ManagedFieldsEntry) bool {
	known := entry.Operation == metav1.ManagedFieldsOperationApply || entry.Operation == metav1.ManagedFieldsOperationUpdate
	named := entry.Manager != "" && len(entry.Manager) <= mostName && len(entry.Subresource) <= mostSubresource
	if !known || !named || entry.FieldsType != "FieldsV1" || !printable(entry.Manager) || !printable(entry.Subresource) {
		return false
	}
	var fields map[string]any
	raw := entry.FieldsV1.GetRawBytes()
	return len(raw) <= mostBytes && json.Unmarshal(raw, &fields) == nil && areFields(fields, 0)
}

func printable(text string) bool {
	return utf8.ValidString(text) && !strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) })
}

// areFields reports whether a tree consists of path elements (structured-merge-diff, fieldpath.DeserializePathElement).
func areFields(tree map[string]any, depth int) bool {
	for key, value := range tree {
		below, is := value.(map[string]any)
		if depth >= mostDepth || !is || !isElement(key) || !areFields(below, depth+1) {
			return false
		}
	}
	return true
}

// isElement reports whether a key is a field, an element of a list by its keys, its value or its index, or the object
// itself.
func isElement(key string) bool {
	kind, rest, _ := strings.Cut(key, ":")
	var keys map[string]any
	switch kind {
	case ".":
		return key == "."
	case "f":
		return rest != ""
	case "k":
		return json.Unmarshal([]byte(rest), &keys) == nil && len(keys) > 0
	case "v":
		return json.Valid([]byte(rest))
	case "i":
		index, err := strconv.Atoi(rest)
		return err == nil && index >= 0
	default:
		return false
	}
}
