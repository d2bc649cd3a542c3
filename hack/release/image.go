package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// imageName returns the name of the image's archive.
func (r *release) imageName() string { return "sliceshift-manager_" + r.version + "_image.tar" }

// imageArchive packs the image for all platforms as an OCI layout, which docker load, podman load, ctr images import,
// skopeo (oci-archive:) and kind load image-archive can read. The content is the same as from the Dockerfile.
func (r *release) imageArchive(dir string, all []built) error {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, platform := range r.platforms {
		var programs []built
		for _, b := range all {
			if b.imaged && b.os == "linux" && b.os+"/"+b.arch == platform {
				programs = append(programs, b)
			}
		}
		if len(programs) == 0 {
			continue
		}
		image, err := r.imageOf(programs)
		if err != nil {
			return fmt.Errorf("image for %s: %w", platform, err)
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{
			Add: image, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: programs[0].os, Architecture: programs[0].arch}},
		})
	}
	packed, err := r.packLayout(plainIndex{index})
	if err != nil {
		return err
	}
	return write(dir, r.imageName(), packed)
}

// imageOf returns the image for one platform. It contains only the programs, and does not run as root.
func (r *release) imageOf(programs []built) (v1.Image, error) {
	var entries []entry
	for _, b := range programs {
		data, err := os.ReadFile(b.file)
		if err != nil {
			return nil, err
		}
		entries = append(entries, entry{b.name, program755, data})
	}
	packed, err := tarred(entries, r.time)
	if err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(packed)), nil
	}, tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return nil, err
	}
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	created := v1.Time{Time: r.time}
	image, err = mutate.Append(image, mutate.Addendum{Layer: layer, History: v1.History{Created: created, CreatedBy: "COPY manager mover /"}})
	if err != nil {
		return nil, err
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture, config.Created = programs[0].os, programs[0].arch, created
	config.Config = v1.Config{User: "65532:65532", Entrypoint: []string{"/manager"}, WorkingDir: "/", Labels: r.labels()}
	return mutate.ConfigFile(image, config)
}

// labels returns the labels that image registries show.
func (r *release) labels() map[string]string {
	return map[string]string{
		"org.opencontainers.image.title":    "sliceshift-manager",
		"org.opencontainers.image.version":  r.version,
		"org.opencontainers.image.revision": r.commit,
		"org.opencontainers.image.source":   "https://github.com/sliceshift/sliceshift",
		"org.opencontainers.image.licenses": "Apache-2.0",
	}
}

// packLayout packs an index under the image's name.
func (r *release) packLayout(index v1.ImageIndex) ([]byte, error) {
	dir, err := os.MkdirTemp("", "sliceshift-image-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	path, err := layout.Write(dir, empty.Index)
	if err != nil {
		return nil, err
	}
	names := layout.WithAnnotations(map[string]string{
		"org.opencontainers.image.ref.name": r.version,
		"io.containerd.image.name":          r.image + ":" + r.version,
	})
	if err := path.AppendIndex(index, names); err != nil {
		return nil, err
	}
	var entries []entry
	err = filepath.WalkDir(dir, func(file string, found os.DirEntry, err error) error {
		if err != nil || found.IsDir() {
			return err
		}
		data, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, file)
		entries = append(entries, entry{filepath.ToSlash(name), text644, data})
		return err
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(entries, func(a, b entry) int { return bytes.Compare([]byte(a.name), []byte(b.name)) })
	return tarred(entries, r.time)
}

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
