// Generates the Python SDK of a Pulumi package, as Pulumi's own language host does in GeneratePackage:
//
//	python-sdk LOADER FOLDER <schema.json
//
// LOADER is the address of the engine's schema loader, for the packages that the schema refers to.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/pulumi/pulumi/pkg/v3/codegen/python"
	"github.com/pulumi/pulumi/pkg/v3/codegen/schema"
)

func main() {
	if err := generate(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func generate(address, folder string) error {
	var spec schema.PackageSpec
	if err := json.NewDecoder(os.Stdin).Decode(&spec); err != nil {
		return err
	}
	loader, err := schema.NewLoaderClient(address)
	if err != nil {
		return err
	}
	pkg, problems, err := schema.BindSpec(spec, loader, schema.ValidationOptions{AllowDanglingReferences: true})
	if err != nil {
		return err
	}
	if problems.HasErrors() {
		return problems
	}
	files, err := python.GeneratePackage("pulumi-language-python", pkg, nil, schema.NewCachedLoader(loader))
	if err != nil {
		return err
	}
	for name, content := range files {
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, content, 0o644); err != nil {
			return err
		}
	}
	return nil
}
