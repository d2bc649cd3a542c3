package printable

import (
	"bytes"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
)

// statuses encodes and decodes protobuf answers of API servers.
var statuses = sync.OnceValue(func() *protobuf.Serializer {
	scheme := runtime.NewScheme()
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"})
	return protobuf.NewSerializer(scheme, scheme)
})

// status escapes the texts of a Status. Other objects have no text that becomes an error.
func status(body []byte) []byte {
	object, _, err := statuses().Decode(body, nil, nil)
	if err != nil {
		return body
	}
	found, is := object.(*metav1.Status)
	if !is {
		return body
	}
	found.Message, found.Reason = Text(found.Message), metav1.StatusReason(Text(string(found.Reason)))
	if d := found.Details; d != nil {
		d.Name, d.Group, d.Kind = Text(d.Name), Text(d.Group), Text(d.Kind)
		for i := range d.Causes {
			cause := &d.Causes[i]
			cause.Type, cause.Message, cause.Field = metav1.CauseType(Text(string(cause.Type))), Text(cause.Message), Text(cause.Field)
		}
	}
	found.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
	var out bytes.Buffer
	if err := statuses().Encode(found, &out); err != nil {
		return body
	}
	return out.Bytes()
}
