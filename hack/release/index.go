package main

import (
	"encoding/json"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// plainIndex encodes an index as the OCI library does. A program that copies the index to a registry may decode and
// encode it again, as skopeo does. If the bytes differed, or had a field that the program does not know, the digest in
// the registry would differ from that in the archive.
type plainIndex struct{ madeIndex }

// madeIndex is the original index. A field cannot have the name of one of its methods, hence the alias.
type madeIndex = v1.ImageIndex

// RawManifest implements v1.ImageIndex.
func (i plainIndex) RawManifest() ([]byte, error) {
	all, err := i.IndexManifest()
	if err != nil {
		return nil, err
	}
	type descriptor struct {
		MediaType types.MediaType `json:"mediaType"`
		Digest    v1.Hash         `json:"digest"`
		Size      int64           `json:"size"`
		Platform  *v1.Platform    `json:"platform,omitempty"`
	}
	plain := struct {
		SchemaVersion int64           `json:"schemaVersion"`
		MediaType     types.MediaType `json:"mediaType"`
		Manifests     []descriptor    `json:"manifests"`
	}{SchemaVersion: all.SchemaVersion, MediaType: all.MediaType}
	for _, each := range all.Manifests {
		plain.Manifests = append(plain.Manifests, descriptor{each.MediaType, each.Digest, each.Size, each.Platform})
	}
	return json.Marshal(plain)
}

// Digest implements v1.ImageIndex.
func (i plainIndex) Digest() (v1.Hash, error) { return partial.Digest(i) }

// Size implements v1.ImageIndex.
func (i plainIndex) Size() (int64, error) { return partial.Size(i) }
