package proxy

import (
	"bytes"
	"encoding/json"

	sliceapi "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
)

// kind is the name of the two kinds.
const kind = "StatefulSet"

// The API versions of the two kinds.
const native = "apps/v1"

var ours = sliceapi.GroupVersion.String()

// rename replaces the API version of StatefulSets, and of references to them as owners.
type rename struct{ from, to string }

var (
	toOurs   = rename{native, ours}
	toNative = rename{ours, native}
)

// object renames in an object, or in each object of a list. Any other value is left alone.
func (r rename) object(value any) {
	object, is := value.(map[string]any)
	if !is {
		return
	}
	if object["kind"] == kind || object["kind"] == kind+"List" {
		r.version(object)
	}
	if metadata, is := object["metadata"].(map[string]any); is {
		r.owners(metadata["ownerReferences"])
	}
	items, _ := object["items"].([]any)
	for _, item := range items {
		r.object(item)
	}
}

func (r rename) owners(references any) {
	list, _ := references.([]any)
	for _, each := range list {
		if owner, is := each.(map[string]any); is && owner["kind"] == kind {
			r.version(owner)
		}
	}
}

func (r rename) version(of map[string]any) {
	if of["apiVersion"] == r.from {
		of["apiVersion"] = r.to
	}
}

// text renames in the JSON of an object or of a list. It keeps numbers unchanged.
func (r rename) text(content []byte) ([]byte, error) {
	value, err := decode(content)
	if err != nil {
		return nil, err
	}
	r.object(value)
	return encode(value)
}

func decode(content []byte) (value any, err error) {
	decoder := json.NewDecoder(bytes.NewReader(content))
	decoder.UseNumber()
	err = decoder.Decode(&value)
	return value, err
}

func encode(value any) ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(value)
	return out.Bytes(), err
}
